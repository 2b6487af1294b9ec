package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// counterSampleProgram is the kernel program of samples of counters.
const counterSampleProgram = "pmu_sample"

// countedEvents are performance counters that every machine has.
var countedEvents = []string{"page-faults", "context-switches", "cpu-migrations", "minor-faults"}

// counters measures what counters of --pmu add to a switch.
func (b *bench) counters() error {
	numbers := []int{0, 1, 2, 4}
	runs := make([]map[string][]float64, len(numbers))
	for i := range runs {
		runs[i] = make(map[string][]float64)
	}
	for range b.turns(7) {
		for i, n := range numbers {
			flags := []string{"--no-stacks"}
			for _, event := range countedEvents[:n] {
				flags = append(flags, "--pmu="+event)
			}
			if err := b.programRuns(runs[i], flags...); err != nil {
				return err
			}
		}
	}
	command := "wprof-record --stats --no-stacks -d60s -o FILE, with none, 1, 2 and 4 of --pmu=" + strings.Join(countedEvents, " --pmu=") +
		fmt.Sprintf(", in turns, beside taskset -c 1 perf bench sched pipe -l %d", pipeLoops)
	const program = "sched_switch"
	var each []float64
	for i, n := range numbers {
		b.add(Row{Name: fmt.Sprintf("kernel program %s, %d software counters", program, n), Unit: "ns a switch", Runs: runs[i][program], Command: command})
	}
	for i, with := range runs[len(numbers)-1][program] {
		each = append(each, (with-runs[1][program][i])/3)
	}
	b.add(Row{Name: "a further software counter at a switch", Unit: "ns a switch", Runs: each, Command: command, Note: "4 counters less 1, by 3"})
	return nil
}

// counterSamples measures samples of a counter: one at each page fault, with both stacks.
func (b *bench) counterSamples() error {
	program := filepath.Join(b.tmp, "events")
	if err := compile(program, "test/bench/testdata/events.c"); err != nil {
		return err
	}
	const event = "page-faults@1"
	l := eventLoop{program: program, name: "faults", rounds: 100}
	var total, inProgram, lost []float64
	for range b.turns(7) {
		without, with, c, err := b.turn(l, "-f", "no-sched,no-wakeup", "-Spmu="+event, "--stats", "-d60s")
		if err != nil {
			return err
		}
		for _, p := range c.cost.GetPrograms() {
			if p.Name == counterSampleProgram && p.Runs > 10_000 {
				inProgram = append(inProgram, float64(p.Ns)/float64(p.Runs))
			}
		}
		total, lost = append(total, eventRuns*(with-without)*1e9/float64(c.events)), append(lost, float64(c.lost))
	}
	command := fmt.Sprintf("median of five times test/bench/testdata/events.c 1 %s %d, with and without wprof-record -f no-sched,no-wakeup -Spmu=%s --stats -d60s -o FILE, in turns", l.name, l.rounds, event)
	b.add(Row{Name: "kernel program of a sample of a counter, both stacks", Unit: "ns a sample", Runs: inProgram, Command: command})
	b.add(Row{Name: "time that a sample of a counter takes from its program", Unit: "ns a sample", Runs: total, Command: command, Note: "perf's own part and that of --stats included"})
	b.add(Row{Name: "samples of a counter lost", Unit: "events", Hold: "0", Runs: lost, Command: command})
	return nil
}
