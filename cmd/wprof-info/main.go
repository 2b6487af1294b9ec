// Command wprof-info says what is in a capture, checks it, and writes it as text and back.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/info"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-info",
		Summary:   "say what is in a capture, check it, write it as text and back",
		ArgsUsage: "[FILE...]",
		Description: "Without flags, prints where and when the capture was recorded, by which command, what it holds, " +
			"which processes ran most, how many functions have names, what was lost and what recording cost. Of a regular file " +
			"only index and end blocks are read, and as many samples as half a second allows. Several files are taken as one stream.",
		Groups: []cli.Group{
			{Title: "What to do", Flags: []cli.Flag{
				{Name: "json", Kind: cli.Bool, Usage: "Print the summary as one JSON object; docs/wprof-info.md lists its fields."},
				{Name: "check", Kind: cli.Bool, Usage: "Read everything and print each thing that is not as it should be, with its place. The exit status is 4 if there is any."},
				{Name: "dump", Kind: cli.Bool, Usage: "Write the stream as text, one event a line."},
				{Name: "undump", Kind: cli.Bool, Usage: "Read that text and write the stream that it describes, faults included."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				cli.FailOnLoss(),
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-info host.wprof", Text: "what is in a capture"},
			{Command: "wprof-info --json host.wprof", Text: "the same for a script"},
			{Command: "wprof-info --check host.wprof", Text: "is every byte of it sound"},
			{Command: "wprof-info --dump host.wprof | less", Text: "read the events"},
			{Command: "wprof-info --undump case.txt -o case.wprof", Text: "make a capture by hand"},
		},
		Run: info.Run,
	}
}
