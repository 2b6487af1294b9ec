// Command wprof-symbolize names the functions of a capture, and finishes interrupted recordings.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/symbol"
	"wprof/internal/symbolize"
)

func main() { cli.Main(tool()) }

func tool() cli.Tool {
	return cli.Tool{
		Name:      "wprof-symbolize",
		Summary:   "name functions, and finish interrupted recordings",
		ArgsUsage: "[FILE...]",
		Description: "Copies a stream and names the functions of frames without a name. From a regular file, all frames also get source lines " +
			"and inlined functions, where the program or its debug file has DWARF, or the program is written in Go. It looks for each file at its path " +
			"on the recorded machine, in --debug-dir and on debuginfod servers, and takes it if the build-id matches; a file without a build-id must not have " +
			"changed. " +
			"Use it for captures recorded with --symbolize=no, or on a machine without the debug files.\n\n" +
			"Also recovers the spool (FILE.part) that wprof-record leaves if it is killed or the disk fills up: " +
			"it writes everything up to the last complete round. The exit status is 4 if the recording was cut off.",
		Groups: []cli.Group{
			{Title: "Names", Flags: []cli.Flag{
				{Name: "debug-dir", Kind: cli.List, Value: "DIR", Files: true, Check: cli.CheckFolder, Usage: "Look for programs and debug files here before /usr/lib/debug: DIR/PATH, DIR/NAME and DIR/.build-id/ab/cdef.debug. The first DIR that has the file is used."},
				{Name: "debuginfod", Kind: cli.List, Value: "URL", Check: symbolize.CheckServer, Usage: "Fetch files that are nowhere else from this debuginfod server, by build-id. The first that has a file is used. By default the servers in $DEBUGINFOD_URLS; no: none."},
				{Name: "symbol-archive", Kind: cli.List, Value: "FILE", Files: true, Usage: "Use the symbols and source lines in this archive, which --collect made, for files that are nowhere else."},
				{Name: "collect", Kind: cli.String, Value: "ARCHIVE", Files: true, Usage: "Write the symbols of all files with a build-id in which FILEs have frames, and the lines of these frames, to ARCHIVE, for --symbol-archive on a machine without these files. No stream is written."},
				{Name: "demangle", Kind: cli.String, Value: "full|short|none", Choices: symbol.Forms(), Usage: symbol.FormsHelp + " Frames that have such a name keep it without --again; one as in the symbol table is rewritten."},
				{Name: "no-lines", Usage: "Leave out source lines and inlined functions, which are read from DWARF and from the tables of Go programs."},
				{Name: "again", Usage: "Look up names again for frames that have one."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
				{Name: "compress", Aliases: []string{"z"}, Kind: cli.String, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "zstd compression level: 0 none, 3 best. By default 0 to a pipe and 1 to a regular file."},
				cli.FailOnLoss(),
				{Name: "verbose", Aliases: []string{"v"}, Usage: "Print how many frames were named, how many got source lines, and how much debuginfod servers sent."},
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-symbolize --debug-dir debug host.wprof -o named.wprof", Text: "Name a capture of another machine from a folder of debug files."},
			{Command: "wprof-symbolize --collect symbols.tar host.wprof", Text: "Collect the symbols that a capture needs, where its programs are."},
			{Command: "wprof-symbolize --symbol-archive symbols.tar host.wprof -o named.wprof", Text: "Name it where they are not."},
			{Command: "wprof-symbolize host.wprof.part -o host.wprof", Text: "Finish a recording whose recorder was killed."},
			{Command: "wprof-record -d5s --symbolize=no | wprof-symbolize | wprof-perfetto > t.pb", Text: "Name functions in a separate process."},
		},
		Filters:  filter.Conditions(),
		CThreads: true, // the client of debuginfod links package net
		Run:      symbolize.Run,
	}
}
