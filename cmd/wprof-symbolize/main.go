// Command wprof-symbolize finishes what a killed recorder has left behind.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/symbolize"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-symbolize",
		Summary:   "finish an interrupted recording",
		ArgsUsage: "[FILE...]",
		Description: "Reads the spool (FILE.part) that wprof-record leaves behind when it is killed or the disk fills up, and writes " +
			"everything up to the last whole round as a stream. The exit status is 4 if the recording was cut off. " +
			"A stream is passed on as it is.",
		Groups: []cli.Group{{Title: "Output", Flags: []cli.Flag{
			{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to this file; without it, to standard output."},
			{Name: "compress", Aliases: []string{"z"}, Kind: cli.String, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "Compression of blocks, from none to best. By default none to a pipe and 1 to a file."},
		}}},
		Examples: []cli.Example{
			{Command: "wprof-symbolize host.wprof.part -o host.wprof", Text: "Finish a recording whose recorder was killed."},
			{Command: "wprof-symbolize host.wprof.part | wprof-perfetto > t.pb", Text: "Look at it without keeping it."},
			{Command: "wprof-symbolize -z 3 host.wprof -o small.wprof", Text: "Compress a capture better."},
		},
		Run: symbolize.Run,
	}
}
