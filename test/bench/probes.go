package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// probedCall is a function of testdata/probes.c, and how tools probe it.
type probedCall struct {
	what      string
	function  string
	calls     int
	probe     string // for -U
	bpftrace  string
	perf      string // for perf probe; "": there is none
	event     string // of perf record, without perf probe
	isCounted bool
}

func probedCalls(file string) []probedCall {
	u := "uprobe:" + file + ":"
	record := func(function string) probedCall {
		return probedCall{
			what: "two integers of a function that begins with " + function, function: function,
			probe:    fmt.Sprintf("u:%s (arg:0:s32, arg:1:s32, path:%s)", function, file),
			bpftrace: fmt.Sprintf(`%s%s { printf("%%d %%d\n", arg0, arg1); }`, u, function),
			perf:     fmt.Sprintf("wprof_bench=%s a=%%di:s32 b=%%si:s32", function),
		}
	}
	push, nop, step := record("pushes"), record("nops"), record("steps")
	push.calls, nop.calls, step.calls = 100_000, 200_000, 20_000
	push.what, nop.what, step.what = "two integers, the probed instruction is emulated (push)", "two integers, a nop of 5 bytes", "two integers, the instruction is single-stepped (lea)"
	return []probedCall{
		push, nop, step,
		{
			what: "two integers of a static probe (USDT)", function: "fires", calls: 100_000,
			probe:    fmt.Sprintf("usdt:bench:fires (arg:*, path:%s)", file),
			bpftrace: "usdt:" + file + `:bench:fires { printf("%d %d\n", arg0, arg1); }`,
		},
		{
			what: "a tracepoint and its number", function: "calls", calls: 200_000,
			probe:    "tp:syscalls:sys_enter_getppid (arg:__syscall_nr)",
			bpftrace: `tracepoint:syscalls:sys_enter_getppid { printf("%d\n", args->__syscall_nr); }`,
			event:    "syscalls:sys_enter_getppid",
		},
		{
			what: "a raw tracepoint, where a condition holds", function: "calls", calls: 200_000,
			probe:    fmt.Sprintf("raw_tp:sys_enter (arg:id) | if:id==%d |", unix.SYS_GETPPID),
			bpftrace: fmt.Sprintf(`tracepoint:raw_syscalls:sys_enter { if (args->id == %d) { printf("%%d\n", args->id); } }`, unix.SYS_GETPPID),
		},
		{
			what: "an integer and a text of 15 characters", function: "pushes", calls: 100_000,
			probe:    fmt.Sprintf("u:pushes (arg:0:s32, arg:2:str, path:%s)", file),
			bpftrace: u + `pushes { printf("%d %s\n", arg0, str(arg2)); }`,
			perf:     "wprof_bench=pushes a=%di:s32 s=+0(%dx):string",
		},
		{
			what: "a span, from entry to return", function: "pushes", calls: 50_000,
			probe:    fmt.Sprintf("uspan:pushes (arg:0:s32, arg:ret:s32, path:%s) | entry:no |", file),
			bpftrace: u + `pushes { @at[tid] = nsecs; @a[tid] = arg0; } uret` + u[1:] + `pushes { printf("%d %d %d\n", @a[tid], retval, nsecs - @at[tid]); delete(@at[tid]); delete(@a[tid]); }`,
		},
		{
			what: "a call that is counted", function: "nops", calls: 200_000, isCounted: true,
			probe:    fmt.Sprintf("u:nops (path:%s) | count |", file),
			bpftrace: u + `nops { @ = count(); }`,
		},
		{
			what: "durations in a histogram", function: "pushes", calls: 50_000, isCounted: true,
			probe:    fmt.Sprintf("uspan:pushes (path:%s) | hist:dur |", file),
			bpftrace: u + `pushes { @at[tid] = nsecs; } uret` + u[1:] + `pushes { @ = hist(nsecs - @at[tid]); delete(@at[tid]); }`,
		},
	}
}

// probedLoop calls a function of testdata/probes.c.
type probedLoop struct {
	program string
	call    *probedCall
}

func (l probedLoop) seconds() (float64, error) {
	u, err := run(nil, nil, l.program, l.call.function, strconv.Itoa(l.call.calls))
	if err != nil {
		return 0, err
	}
	var s float64
	if _, err := fmt.Sscan(u.out, &s); err != nil {
		return 0, fmt.Errorf("%s printed %q: %w", l.program, u.out, err)
	}
	return s, nil
}

const probePairs = 10

// probes compares what a user-defined probe takes from its program with the same of bpftrace and of perf probe, in turns.
func (b *bench) probes() error {
	program := filepath.Join(b.tmp, "probes")
	if err := compile(program, "test/bench/testdata/probes.c"); err != nil {
		return err
	}
	for _, c := range probedCalls(program) {
		if err := b.probedCall(probedLoop{program, &c}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) probedCall(l probedLoop) error {
	var ours, bpftrace, perf, toBpftrace, toPerf, stored, lost []float64
	for range min(b.pairs, probePairs) {
		without, with, c, err := b.turn(l, "--no-stacks", "-f", "no-sched,no-wakeup,no-samples", "-d60s", "-U", l.call.probe)
		if err != nil {
			return err
		}
		ns := func(seconds float64) float64 { return (seconds - without) * 1e9 / float64(l.call.calls) }
		ours, lost = append(ours, ns(with)), append(lost, float64(c.lost))
		stored = append(stored, float64(c.stored)/float64(l.call.calls))
		other, err := peerSeconds(l, "bpftrace", "-e", l.call.bpftrace)
		if err != nil {
			return err
		}
		bpftrace, toBpftrace = append(bpftrace, ns(other)), append(toBpftrace, ns(with)/ns(other))
		if l.call.perf+l.call.event == "" {
			continue
		}
		if other, err = b.perfProbe(l); err != nil {
			return err
		}
		perf, toPerf = append(perf, ns(other)), append(toPerf, ns(with)/ns(other))
	}
	command := fmt.Sprintf("test/bench/testdata/probes.c %s %d with wprof-record --no-stacks -f no-sched,no-wakeup,no-samples -U '%s', with bpftrace -e '%s', and with neither, in turns",
		l.call.function, l.call.calls, l.call.probe, l.call.bpftrace)
	b.add(Row{Name: "time that a probe takes: " + l.call.what, Unit: "ns a call", Runs: ours, Command: command})
	b.add(Row{Name: "the same, bpftrace: " + l.call.what, Unit: "ns a call", Runs: bpftrace, Command: command})
	b.add(Row{Name: "a probe's time by bpftrace's: " + l.call.what, Unit: "×", Hold: "×1", Limit: 1, Runs: toBpftrace, Command: command})
	if l.call.perf+l.call.event != "" {
		b.add(Row{Name: "the same, perf probe and perf record: " + l.call.what, Unit: "ns a call", Runs: perf, Command: command})
		b.add(Row{Name: "a probe's time by perf's: " + l.call.what, Unit: "×", Hold: "×1", Limit: 1, Runs: toPerf, Command: command})
	}
	if !l.call.isCounted {
		b.add(Row{Name: "stored bytes an event of a probe: " + l.call.what, Unit: "bytes an event", Runs: stored, Command: command})
	}
	b.add(Row{Name: "events of a probe lost: " + l.call.what, Unit: "events", Hold: "0", Runs: lost, Command: command})
	return nil
}

// inPrivate runs a command with tracefs, without leaving it mounted.
func inPrivate(command string, args ...string) []string {
	const mount = `mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug; exec "$0" "$@"`
	return append([]string{"-m", "sh", "-c", mount, command}, args...)
}

// peerSeconds runs the loop beside another tracer.
func peerSeconds(l probedLoop, name string, args ...string) (float64, error) {
	tracer, err := start(io.Discard, "unshare", inPrivate(name, args...)...)
	if err != nil {
		return 0, err
	}
	tracer.waitOpen()
	tracer.waitOpen() // bpftrace compiles its program
	seconds, err := l.seconds()
	_, stopErr := tracer.stop()
	return seconds, errors.Join(err, stopErr)
}

// perfProbe runs the loop beside perf record of a probe of perf probe.
func (b *bench) perfProbe(l probedLoop) (float64, error) {
	if l.call.event != "" {
		return peerSeconds(l, "perf", "record", "-q", "-N", "-B", "-a", "-e", l.call.event, "-o", filepath.Join(b.tmp, "probes.perf"))
	}
	if _, err := run(nil, nil, "unshare", inPrivate("perf", "probe", "-q", "-x", l.program, l.call.perf)...); err != nil {
		return 0, err
	}
	seconds, err := peerSeconds(l, "perf", "record", "-q", "-N", "-B", "-a", "-e", "probe_*:wprof_bench*", "-o", filepath.Join(b.tmp, "probes.perf"))
	_, dropErr := run(nil, nil, "unshare", inPrivate("perf", "probe", "-q", "-d", "*:wprof_bench*")...)
	return seconds, errors.Join(err, dropErr)
}
