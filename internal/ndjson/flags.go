package ndjson

import (
	"strings"

	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/records"
	"wprof/internal/stacks"
)

// WhatFlags returns the flags that select what is written.
func WhatFlags() cli.Group {
	kinds, schema := KindNames()
	return cli.Group{Title: "What to write", Flags: []cli.Flag{
		{Name: "kind", Aliases: []string{"k"}, Kind: cli.List, Value: "KINDS", Choices: kinds, Synonyms: schema, CommaList: true, Usage: "Write only events of these kinds. Fields derived from other kinds, such as off-CPU time, stay." + notRecorded()},
		{Name: "fields", Kind: cli.List, Value: "LIST", Choices: FieldNames(), CommaList: true, Usage: "Write only ts, t and these fields of events. A task is one field."},
		{Name: "no-stacks", Usage: "Leave out stacks, and the fields with stack ids."},
		{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Choices: Features(), CommaList: true, Usage: "Add fields, or choose the frames of stacks. numa: the NUMA node of each event's CPU. cgroup: of each task its cgroup, and its container, pod, unit and ids in its own PID namespace, where it has them. prev-stack: offcpu_stack_id of a switch is the stack with which prev leaves the CPU, as in the JSON of the C program wprof; otherwise it is the one with which next had left it. " + stacks.PythonUsage},
		{Name: stacks.NoPython, Usage: stacks.NoPythonUsage},
		{Name: "time", Kind: cli.String, Value: "UNIT", Default: "s", Choices: []string{"s", "ns"}, Usage: "Write times and durations in seconds with nine decimals, or as integer nanoseconds."},
	}}
}

// notRecorded returns a sentence about the kinds that the recorder does not record.
func notRecorded() string {
	var names []string
	for _, k := range records.Kinds() {
		if !k.IsAvailable() {
			names = append(names, k.Name)
		}
	}
	if names == nil {
		return ""
	}
	return " Not recorded yet: " + strings.Join(names, ", ") + "."
}

// FormFlags returns the flags for the form of the output.
func FormFlags() cli.Group {
	return cli.Group{Title: "How to write it", Flags: []cli.Flag{
		{Name: "stream", Usage: "Write each event within 100 ms after it was read, and each stack just before the first event that uses it. In the header stack_cnt and lost are null, and dur for live input. Without this flag, a pipe is copied to a temporary file and read to its end first."},
		{Name: "array", Usage: "Write one JSON array instead of lines."},
		{Name: "chrome", Usage: "Write Chrome's trace event JSON, for tools that read only that. wprof-perfetto writes smaller traces that show more."},
		{Name: "firefox", Usage: "Write a profile for profiler.firefox.com: CPU and off-CPU time of each thread with stacks, and markers."},
		{Name: "parquet", Kind: cli.String, Value: "FOLDER", Files: true, Usage: "Write Parquet files into this folder: one per kind of event, and stacks, frames, tasks and session. Times are integer nanoseconds."},
		{Name: "schema", Kind: cli.Optional, Value: "FORM", Choices: []string{"json", "md"}, Usage: "Print the schema of the lines, as JSON Schema or with --schema=md as Markdown, and exit."},
	}}
}

// RangeFlags returns the flags for the time range.
func RangeFlags() cli.Group {
	return cli.Group{Title: "Which time", Flags: filter.RangeFlags(
		"Times in the output stay relative to the start of the window; the header's start_ts is the start of the range. Off-CPU times count from here at the earliest.", "The header's dur ends here.")}
}

// OutputFlags returns the flags for the output file.
func OutputFlags() cli.Group {
	return cli.Group{Title: "Output", Flags: []cli.Flag{
		{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
		cli.FailOnLoss(),
	}}
}
