// Command wprof-info summarizes a capture, checks it, and converts it to text and back.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/info"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-info",
		Summary:   "report where the time went, summarize a capture, check it, convert it to text and back",
		ArgsUsage: "[FILE...]",
		Description: "Without flags, prints a summary: machine, time and command of the recording, events by kind, the processes with most CPU time, " +
			"what all threads did, how many frames have function names, losses, and the cost of recording. Of a regular file it " +
			"reads only block headers, indices and end blocks, and events for up to half a second. Several files are read as one stream.",
		Groups: []cli.Group{
			{Title: "What to print", Flags: []cli.Flag{
				{Name: "json", Kind: cli.Bool, Usage: "Print the summary, or the report, as one JSON object; docs/wprof-info.md and docs/report.md list the fields."},
				{Name: "check", Kind: cli.Bool, Mode: true, Usage: "Read everything and print each fault with its byte offset. With any fault the exit status is 4."},
				{Name: "probes", Kind: cli.Bool, Mode: true, Usage: "List the user-defined probes (wprof-record -U) with events: their number and rate, how long spans were, with a histogram of each, and by key what was counted in the kernel."},
				{Name: "calls", Kind: cli.Bool, Mode: true, Usage: "List the functions of Python and the operators of PyTorch whose calls were traced (wprof-record -f py-trace, -f py-torch): how often they were called, and their time with and without the calls that they made."},
				{Name: "dump", Kind: cli.Bool, Mode: true, Usage: "Write the stream as text, one event per line."},
				{Name: "undump", Kind: cli.Bool, Mode: true, Usage: "Read the text of --dump and write the stream, including any faults in the text."},
			}},
			info.ReportFlags(),
			filter.Flags(),
			filter.EventFlags("Times are counted from here.", "Times are counted up to here."),
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-info host.wprof", Text: "Summarize a capture."},
			{Command: "wprof-info --json host.wprof", Text: "The same, for a script."},
			{Command: "wprof-info --report -p 1234 host.wprof", Text: "Where the time of a process went, and what held it up."},
			{Command: "wprof-info --report --start 2s --end 4s host.wprof", Text: "Where the time of all threads went in two seconds."},
			{Command: "wprof-info --probes host.wprof", Text: "How often user-defined probes were hit, and how long their spans were."},
			{Command: "wprof-info --check host.wprof", Text: "Check every byte."},
			{Command: "wprof-info --dump host.wprof | less", Text: "Read the events."},
			{Command: "wprof-info --undump case.txt -o case.wprof", Text: "Make a capture from text."},
		},
		Run: info.Run,
	}
}
