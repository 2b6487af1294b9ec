// Command wprof-flame tells where the time of a capture's threads went, on the CPU and off it.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/flame"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-flame",
		Summary:   "fold a capture into flame graphs",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and tells where the time of its threads went: at which place in the code they ran, waited for a CPU, or were blocked. " +
			"Writes folded stacks, interactive pictures, and profiles for pprof and speedscope. Several files are taken as one stream.",
		Groups: []cli.Group{flame.TimeFlags(), flame.FrameFlags(), flame.OutputFlags(), filter.Flags(), filter.RecordFlags()},
		Examples: []cli.Example{
			{Command: "wprof-flame -p 1234 --svg host.wprof -o wall.svg", Text: "Where all the time of a process went, as a picture for the browser."},
			{Command: "sudo wprof-record -d10s -p 1234 | wprof-flame --html -o page.html", Text: "The next ten seconds of a process, on a page that lets you choose threads and time."},
			{Command: "wprof-flame --off-cpu --no-idle-waits --min-block 1ms host.wprof -o waits.folded", Text: "What threads wait for that is not work, as folded stacks."},
			{Command: "wprof-flame --svg --start 5s --end 10s --diff-end 5s host.wprof -o diff.svg", Text: "What five seconds have more of than the five before."},
			{Command: "wprof-flame --pprof host.wprof -o host.pb.gz && go tool pprof -http : host.pb.gz", Text: "The same in pprof."},
		},
		Sections: flame.Manual(),
		Run:      flame.Run,
	})
}
