// Command wprof-filter keeps a part of a capture.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-filter",
		Summary:   "keep a part of a capture",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes a stream with the events that meet all conditions. " +
			"A repeated flag adds an alternative. Different conditions must all hold, those on threads for the same thread. " +
			"In a pipeline of filters, put --children first; otherwise their order rarely matters (docs/wprof-filter.md).",
		Groups: []cli.Group{filter.Flags(), filter.EventFlags("The scheduler state at this time is written first.", "Spans that end later are written there, marked open."), filter.AroundFlags(), filter.OutputFlags()},
		Examples: []cli.Example{
			{Command: "wprof-record -d5s | wprof-filter -p 1234 | wprof-perfetto > t.pb", Text: "One process as a timeline."},
			{Command: "wprof-filter -n 'nginx*' --start 1.5s --end 1.6s -o part.wprof host.wprof", Text: "A tenth of a second of all processes whose name begins with nginx."},
			{Command: "wprof-filter -p 1234 --children -K waking,wakeup_new host.wprof | wprof-info", Text: "A process and its descendants, without wakeups."},
			{Command: "wprof-filter --around 'span(req) > 50ms' --before 20ms --after 5ms -o slow.wprof host.wprof", Text: "What surrounds each call of the probe req that took more than 50 ms."},
			{Command: "wprof-filter --cpu 0-3,7 --no-idle host.wprof -o cpus.wprof", Text: "Some CPUs, without their idle threads."},
		},
		Run: filter.Run,
	})
}
