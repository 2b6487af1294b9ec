// Command wprof-symbolize names the functions of a capture, and finishes interrupted recordings.
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
		Description: "Names the functions of frames that have none yet, and copies everything else. It looks for each file at its path " +
			"on the recorded machine, where the build-id must match, and in --debug-dir. A file without a build-id must not have " +
			"changed since. Two files with the same build-id count as the same code. " +
			"Use it for captures that were recorded with --symbolize=no, or on a machine without the debug files.\n\n" +
			"Also reads the spool (FILE.part) that wprof-record leaves behind when it is killed or the disk fills up, and " +
			"writes everything up to the last complete round as a stream. The exit status is 4 if the recording was cut off.",
		Groups: []cli.Group{
			{Title: "Names", Flags: []cli.Flag{
				{Name: "debug-dir", Kind: cli.List, Value: "DIR", Files: true, Check: symbolize.CheckDir, Usage: "Look for programs and debug files here too: DIR/PATH, DIR/NAME and DIR/.build-id/ab/cdef.debug."},
				{Name: "again", Usage: "Name frames again that have a name."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				{Name: "compress", Aliases: []string{"z"}, Kind: cli.String, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "zstd compression level: 0 none, 3 best. By default 0 to a pipe and 1 to a regular file."},
				cli.FailOnLoss(),
				{Name: "verbose", Aliases: []string{"v"}, Usage: "Print how many frames were named."},
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-symbolize --debug-dir debug host.wprof -o named.wprof", Text: "Name a capture of another machine from a folder of debug files."},
			{Command: "wprof-symbolize host.wprof.part -o host.wprof", Text: "Finish a recording whose recorder was killed."},
			{Command: "wprof-record -d5s --symbolize=no | wprof-symbolize | wprof-perfetto > t.pb", Text: "Name functions in a separate process."},
		},
		Run: symbolize.Run,
	}
}
