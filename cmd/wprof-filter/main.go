// Command wprof-filter keeps the part of a capture that you want to see.
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
		Description: "Reads a stream and writes what meets all conditions as a stream again. " +
			"Repeating a flag widens its condition; conditions of different kinds must all hold, and those on threads for the same thread. " +
			"Several filters in a chain keep what each of them keeps, in whatever order they stand.",
		Groups: []cli.Group{filter.Flags(), filter.RecordFlags(), filter.OutputFlags()},
		Examples: []cli.Example{
			{Command: "wprof-record -d5s | wprof-filter -p 1234 | wprof-perfetto > t.pb", Text: "One process."},
			{Command: "wprof-filter -n 'nginx*' --start 1.5s --end 1.6s -o part.wprof host.wprof", Text: "A tenth of a second of all processes called nginx."},
			{Command: "wprof-filter -p 1234 --children -K waking,wakeup_new host.wprof | wprof-info", Text: "A process and its descendants, without wakeups."},
			{Command: "wprof-filter --cpu 0-3,7 --no-idle host.wprof -o cpus.wprof", Text: "What happened on some CPUs."},
		},
		Run: filter.Run,
	})
}
