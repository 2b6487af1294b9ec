// Command wprof-info summarizes a capture, checks it, and converts it to text and back.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/info"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-info",
		Summary:   "summarize a capture, check it, convert it to text and back",
		ArgsUsage: "[FILE...]",
		Description: "Without flags, prints where and when the capture was recorded, by which command, what it contains, " +
			"which processes used most CPU time, how many functions have names, what was lost and what recording cost. For a regular file it " +
			"reads only index and end blocks, and samples for up to half a second. Several files are read as one stream.",
		Groups: []cli.Group{
			{Title: "What to do", Flags: []cli.Flag{
				{Name: "json", Kind: cli.Bool, Usage: "Print the summary as one JSON object; docs/wprof-info.md lists its fields."},
				{Name: "check", Kind: cli.Bool, Usage: "Read everything and print each fault with its byte offset. The exit status is 4 if there is any."},
				{Name: "dump", Kind: cli.Bool, Usage: "Write the stream as text, one event per line."},
				{Name: "undump", Kind: cli.Bool, Usage: "Read that text form and write the stream, including its faults."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-info host.wprof", Text: "summarize a capture"},
			{Command: "wprof-info --json host.wprof", Text: "the same, for a script"},
			{Command: "wprof-info --check host.wprof", Text: "check every byte"},
			{Command: "wprof-info --dump host.wprof | less", Text: "read the events"},
			{Command: "wprof-info --undump case.txt -o case.wprof", Text: "make a capture from text"},
		},
		Run: info.Run,
	}
}
