// Command wprof-perfetto makes a trace for ui.perfetto.dev of a capture.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/perfetto"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-perfetto",
		Summary:   "make a trace for ui.perfetto.dev",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes a trace in Perfetto's format, with CPU tracks, thread states, what each thread does, and wakeup arrows. " +
			"Open it in ui.perfetto.dev: it is read by the browser and not sent anywhere. Several files are taken as one stream.",
		Groups: []cli.Group{
			{Title: "What to show", Flags: []cli.Flag{
				{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Default: "sched,threads", Choices: perfetto.Features(), CommaList: true, Negate: true, Usage: "Add parts to the trace, or leave them out with no- before them. sched is CPUs and thread states. threads is the thread view: for each thread when it was on a CPU, how long it was off before and waited after it was woken, what it was blocked in, forks, renames, execs and exits. Off by default are arrows: in the thread view, marks and arrows from wakers to those that they wake and from preemptors to the preempted (Perfetto shows wakers of its own accord; no-sched switches arrows on); sched-extras: more annotations there (compound delay, chain of wakeups, CPUs, priorities, switched from and to); tidpid: thread and process ids in annotations and names; timer-ticks: a mark for each timer sample; embed-stacks: sampled stacks as nested slices over time."},
				{Name: "blocked-min", Kind: cli.Duration, Value: "DURATION", Usage: "In the thread view, draw every time a thread was blocked for at least so long. A number without a unit is milliseconds. Without this flag those are drawn of which the recorder has taken a stack, and those of 1ms or more, but not idle kernel threads."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "sudo wprof-record -d5s | wprof-perfetto > trace.pb", Text: "Look at the next five seconds of this machine."},
			{Command: "wprof-perfetto host.wprof -o trace.pb", Text: "Convert a capture."},
			{Command: "wprof-filter -n postgres host.wprof | wprof-perfetto -o trace.pb", Text: "Only the processes of one name."},
			{Command: "wprof-perfetto -e sched-extras,embed-stacks --blocked-min 100us host.wprof -o trace.pb", Text: "Everything about a thread, and all that it was blocked for 100 µs or longer."},
			{Command: "wprof-filter --start 2s --end 3s host.wprof | wprof-perfetto -o trace.pb", Text: "A second of a capture that is too large for the browser."},
		},
		Run: perfetto.Run,
	})
}
