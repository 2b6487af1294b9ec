// Command wprof-flame shows where the threads of a capture spent their time, on the CPU and off it.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/flame"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-flame",
		Summary:   "show where threads spent their time: flame graphs, pprof, speedscope",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and adds up, by stack, the time in which each thread ran, was runnable, or was blocked. " +
			"Writes folded stacks, interactive flame graphs, and profiles for pprof and speedscope. Several files are read as one stream.",
		Groups: []cli.Group{flame.TimeFlags(), flame.FrameFlags(), flame.OutputFlags(), filter.Flags(), filter.EventFlags("Intervals are counted from here.", "Intervals are counted up to here.")},
		Examples: []cli.Example{
			{Command: "wprof-flame -p 1234 --svg host.wprof -o wall.svg", Text: "All time of a process as a flame graph for the browser."},
			{Command: "sudo wprof-record -d10s -p 1234 | wprof-flame --html -o page.html", Text: "Ten seconds of a process, as a page with a selectable time range and threads."},
			{Command: "wprof-flame --off-cpu --no-idle-waits --min-block 1ms host.wprof -o waits.folded", Text: "Waits of at least 1 ms, without waits for work, as folded stacks."},
			{Command: "wprof-flame --svg --start 5s --end 10s --diff-end 5s host.wprof -o diff.svg", Text: "Compare seconds 5 to 10 with the first five."},
			{Command: "wprof-flame --open -p 1234 host.wprof", Text: "Show a page of a process in the browser."},
			{Command: "wprof-flame --pprof host.wprof -o host.pb.gz && go tool pprof -http : host.pb.gz", Text: "All time of all threads, in pprof."},
		},
		Sections: flame.Manual(),
		CThreads: true, // the server of --open links package net
		Run:      flame.Run,
	})
}
