// Command wprof-perfetto converts a capture to a trace for ui.perfetto.dev.
package main

import (
	"strings"

	"wprof/internal/browser"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/perfetto"
	"wprof/internal/stacks"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-perfetto",
		Summary:   "convert a capture to a trace for ui.perfetto.dev",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes a trace for ui.perfetto.dev: CPU tracks, thread states, and what each thread does. " +
			"The browser reads the file and uploads nothing. Several files are read as one stream.",
		Groups: []cli.Group{
			{Title: "What to show", Flags: []cli.Flag{
				{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Default: "sched,threads,containers,counters", Choices: perfetto.Features(), CommaList: true, Negate: true, Usage: "Parts of the trace; no- before a part leaves it out. sched: CPU tracks and thread states. threads: the thread view, with slices for the times that a thread was on a CPU or blocked, and instants for forks, renames, execs and exits. runs: in the thread view, a slice for each time on a CPU, where otherwise times below 1 ms that follow each other closely are one. sleepers: a row for each process that never ran, which otherwise are in one group. arrows: in the thread view, instants and arrows for wakeups and preemptions (on by default with no-sched; thread states show wakers without it). sched-extras: more annotations there (compound delay, wakeup chain, CPUs, priorities, previous and next thread). tidpid: thread and process ids in names and annotations. timer-ticks: an instant for each timer sample. preempted: the stacks of preempted threads. numa: the NUMA node of each CPU. cores: the thread on each CPU once more, on tracks in the order of NUMA nodes and cores, so that the CPUs of one core are next to each other. containers: how many CPUs each container and each of its processes used. counters: what the counters of wprof-record --pmu count, as rates of CPUs and processes. wprof-names: some annotations have the names of the C program wprof. embed-stacks: sampled stacks as nested slices. " + stacks.PythonUsage},
				{Name: stacks.NoPython, Usage: stacks.NoPythonUsage},
				{Name: "blocked-min", Kind: cli.Duration, Value: "DURATION", Usage: "Shortest blocked time that the thread view draws. A number without a unit is milliseconds, from 100 on. By default it draws those of 1ms or more and those with a stack, except of kernel threads in state I."},
				{Name: "mark", Kind: cli.List, Value: "COND", Usage: "Mark the times of threads for which a condition holds, on a track of its own: oncpu>TIME, offcpu>TIME or delay>TIME (from the wakeup to running), and with & thread=GLOB or process=GLOB, as in 'offcpu>10ms & thread=nginx*'. May be repeated."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				{Name: "max-mb", Kind: cli.Int, Value: "N", Usage: "Largest size of the trace in MB. If it is larger, these are left out in this order, until it fits: " + strings.Join(perfetto.ReductionNames(), "; ") + ". A message says what is. Reads the capture several times; a pipe is copied to a temporary file first."},
				browser.Flag("Open the trace at https://ui.perfetto.dev in the browser, and print the link. The page fetches it from this machine and uploads nothing."),
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "sudo wprof-record -d5s | wprof-perfetto > trace.pb", Text: "Five seconds of this machine."},
			{Command: "wprof-perfetto host.wprof -o trace.pb", Text: "Convert a capture."},
			{Command: "wprof-perfetto --open host.wprof", Text: "Show a capture in the browser."},
			{Command: "wprof-filter -n postgres host.wprof | wprof-perfetto -o trace.pb", Text: "Only processes of one name."},
			{Command: "wprof-perfetto -e sched-extras,embed-stacks --blocked-min 100us host.wprof -o trace.pb", Text: "All details of each thread, and blocked times from 100 µs."},
			{Command: "wprof-filter --start 2s --end 3s host.wprof | wprof-perfetto -o trace.pb", Text: "A second of a capture that is too large for the browser."},
		},
		Filters:  filter.Conditions(),
		CThreads: true, // the server of --open links package net
		Run:      perfetto.Run,
	})
}
