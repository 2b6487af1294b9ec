package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// eventLoop is a loop of testdata/events.c.
type eventLoop struct {
	program string
	name    string
	rounds  int
	source  string // of its events, for -f
	what    string // they are
	limit   int    // ns an event; 0: none
	coarse  bool   // what the events add to a round is less than its noise
}

const eventRuns = 5

// seconds is the median of five runs.
func (l eventLoop) seconds() (float64, error) {
	var runs []float64
	for range eventRuns {
		u, err := run(nil, nil, l.program, "1", l.name, strconv.Itoa(l.rounds))
		if err != nil {
			return 0, err
		}
		var s float64
		if _, err := fmt.Sscan(u.out, &s); err != nil {
			return 0, fmt.Errorf("%s %s printed %q: %w", l.program, l.name, u.out, err)
		}
		runs = append(runs, s)
	}
	return median(runs), nil
}

func eventLoops() []eventLoop {
	return []eventLoop{
		{name: "calls", rounds: 500_000, source: "syscall", what: "system calls, getppid", limit: 300},
		{name: "faults", rounds: 150, source: "fault", what: "page faults of new pages", limit: 250},
		{name: "datagrams", rounds: 2000, source: "net", what: "packets of loopback, out and in", limit: 250},
		{name: "datagrams", rounds: 2000, source: "net=tcp", what: "packets of loopback, none of which the expression selects"},
		{name: "datagrams", rounds: 2000, source: "softirq", what: "soft interrupts, a packet each", limit: 200},
		{name: "ipi", rounds: 20_000, source: "ipi", what: "interrupts between CPUs, membarrier()", coarse: true},
		{name: "signals", rounds: 100_000, source: "signal", what: "signals to itself, with a handler"},
		{name: "requests", rounds: 20_000, source: "io_uring", what: "requests to io_uring that do nothing"},
		{name: "faults", rounds: 100, source: "memory", what: "changes of a process's memory", coarse: true},
		{name: "moves", rounds: 2000, source: "migrate", what: "moves between CPUs, sched_setaffinity()", coarse: true},
		{name: "moves", rounds: 2000, source: "tp=sched:sched_migrate_task", what: "the tracepoint sched:sched_migrate_task", coarse: true},
	}
}

// eventCosts runs programs that are made of one kind of event, with it recorded and without, in turns: what each event costs them.
func (b *bench) eventCosts() error {
	program := filepath.Join(b.tmp, "events")
	if err := compile(program, "test/bench/testdata/events.c"); err != nil {
		return err
	}
	for _, l := range eventLoops() {
		l.program = program
		if err := b.eventCost(l); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) eventCost(l eventLoop) error {
	var slowdown, ns, stored, lost []float64
	features := "no-sched,no-wakeup,no-samples," + l.source
	selected := !strings.HasPrefix(l.source, "net=")
	for range b.pairs {
		without, with, c, err := b.turn(l, "--no-stacks", "-f", features, "-d60s")
		if err != nil {
			return err
		}
		slowdown, lost = append(slowdown, with/without), append(lost, float64(c.lost))
		if selected {
			ns = append(ns, eventRuns*(with-without)*1e9/float64(c.events))
			stored = append(stored, float64(c.stored)/float64(c.events))
		}
	}
	command := fmt.Sprintf("median of five times test/bench/testdata/events.c 1 %s %d, with and without wprof-record --no-stacks -f %s -d60s -o FILE, in turns", l.name, l.rounds, features)
	b.add(Row{Name: "slowdown of a loop of " + l.what, Unit: "×", Runs: slowdown, Command: command})
	if !selected {
		return nil
	}
	if !l.coarse {
		row := Row{Name: "time that an event takes from its program: " + l.what, Unit: "ns an event", Runs: ns, Command: command, Note: "the difference of the loop's times by the events in the capture"}
		if l.limit > 0 {
			row.Hold, row.Limit = strconv.Itoa(l.limit), float64(l.limit)
		}
		b.add(row)
	}
	b.add(Row{Name: "stored bytes an event: " + l.what, Unit: "bytes an event", Runs: stored, Command: command})
	b.add(Row{Name: "events lost beside a loop of " + l.what, Unit: "events", Hold: "0", Runs: lost, Command: command})
	return nil
}
