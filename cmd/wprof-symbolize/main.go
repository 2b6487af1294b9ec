// Command wprof-symbolize names the functions of a capture, and finishes what a killed recorder has left behind.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/symbolize"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-symbolize",
		Summary:   "name functions, and finish interrupted recordings",
		ArgsUsage: "[FILE...]",
		Description: "Gives frames their functions that have none yet, and passes everything else on: it looks for the files in " +
			"the recording machine's paths, if their build-ids agree, and in --debug-dir. A file without a build-id must not have " +
			"changed since. Build-ids are trusted: two files with the same one count as the same code. " +
			"A capture that was recorded with --symbolize=no, or on a machine without the debug files, gets its names here.\n\n" +
			"Also reads the spool (FILE.part) that wprof-record leaves behind when it is killed or the disk fills up, and " +
			"writes everything up to the last whole round as a stream. The exit status is 4 if the recording was cut off.",
		Groups: []cli.Group{
			{Title: "Names", Flags: []cli.Flag{
				{Name: "debug-dir", Kind: cli.List, Value: "DIR", Files: true, Check: symbolize.CheckDir, Usage: "Look for programs and debug files here too: DIR/PATH, DIR/NAME and DIR/.build-id/ab/cdef.debug. May be repeated."},
				{Name: "again", Usage: "Also name frames that have a name."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to this file; without it, to standard output."},
				{Name: "compress", Aliases: []string{"z"}, Kind: cli.String, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "Compression of blocks, from none to best. By default none to a pipe and 1 to a file."},
				cli.FailOnLoss(),
				{Name: "verbose", Aliases: []string{"v"}, Usage: "Say how many frames have a name now."},
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-symbolize --debug-dir debug host.wprof -o named.wprof", Text: "Name a capture of another machine from a folder of debug files."},
			{Command: "wprof-symbolize host.wprof.part -o host.wprof", Text: "Finish a recording whose recorder was killed."},
			{Command: "wprof-record -d5s --symbolize=no | wprof-symbolize | wprof-perfetto > t.pb", Text: "Name in a process of its own."},
		},
		Run: symbolize.Run,
	}
}
