// Command wprof-perfetto converts a capture to a trace for ui.perfetto.dev.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/perfetto"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-perfetto",
		Summary:   "convert a capture to a trace for ui.perfetto.dev",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes a trace in Perfetto's format, with CPU tracks, thread states, and what each thread does. " +
			"Open it in ui.perfetto.dev: the browser reads the file and sends it nowhere. Several files are read as one stream.",
		Groups: []cli.Group{
			{Title: "What to show", Flags: []cli.Flag{
				{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Default: "sched,threads", Choices: perfetto.Features(), CommaList: true, Negate: true, Usage: "Add parts to the trace, or leave them out with no- before them. sched is CPUs and thread states. threads is the thread view: for each thread when it was on a CPU, how long it was off before and waited after it was woken, what it was blocked in, forks, renames, execs and exits. Off by default are arrows: in the thread view, marks and arrows from wakers to those that they wake and from preemptors to the preempted (Perfetto shows wakers of its own accord; no-sched switches arrows on); sched-extras: more annotations there (compound delay, chain of wakeups, CPUs, priorities, switched from and to); tidpid: thread and process ids in annotations and names; timer-ticks: a mark for each timer sample; embed-stacks: sampled stacks as nested slices over time."},
				{Name: "blocked-min", Kind: cli.Duration, Value: "DURATION", Usage: "In the thread view, draw the times for which a thread was blocked at least this long. A number without a unit is milliseconds. By default, those with a recorded stack and those of 1ms or more are drawn, except of idle kernel threads."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "sudo wprof-record -d5s | wprof-perfetto > trace.pb", Text: "Look at the next five seconds of this machine."},
			{Command: "wprof-perfetto host.wprof -o trace.pb", Text: "Convert a capture."},
			{Command: "wprof-filter -n postgres host.wprof | wprof-perfetto -o trace.pb", Text: "Only processes of one name."},
			{Command: "wprof-perfetto -e sched-extras,embed-stacks --blocked-min 100us host.wprof -o trace.pb", Text: "All details of each thread, with times blocked of 100 µs or more."},
			{Command: "wprof-filter --start 2s --end 3s host.wprof | wprof-perfetto -o trace.pb", Text: "A second of a capture that is too large for the browser."},
		},
		Run: perfetto.Run,
	})
}
