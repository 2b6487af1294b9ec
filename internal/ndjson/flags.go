package ndjson

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
)

// WhatFlags say what is written.
func WhatFlags() cli.Group {
	return cli.Group{Title: "What to write", Flags: []cli.Flag{
		{Name: "kind", Aliases: []string{"k"}, Kind: cli.List, Value: "KINDS", Choices: KindNames(), CommaList: true, Usage: "Write events of these kinds only. What events say about others, such as how long a thread was off its CPU, stays. The recorder has no source yet of pmu_event, hardirq, softirq, wq, ipi_send and ipi."},
		{Name: "fields", Kind: cli.List, Value: "LIST", Choices: FieldNames(), CommaList: true, Usage: "Of events, write these fields only, and always ts and t. A task is one field."},
		{Name: "no-stacks", Usage: "Leave out stacks, and the fields of events that name them."},
		{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Choices: Features(), CommaList: true, Usage: "Add fields. numa is the NUMA node of each event's CPU."},
		{Name: "time", Kind: cli.String, Value: "UNIT", Default: "s", Choices: []string{"s", "ns"}, Usage: "Write times and durations in seconds with nine decimals, or as whole nanoseconds."},
	}}
}

// FormFlags say how it is written.
func FormFlags() cli.Group {
	return cli.Group{Title: "How to write it", Flags: []cli.Flag{
		{Name: "stream", Usage: "Write events while they come, at most 100 ms late, and each stack just before the first event that names it. The header then tells neither how many stacks there are nor how much was lost, and of live input no duration. Without this flag, input from a pipe is read to its end first, through a temporary file."},
		{Name: "array", Usage: "Write one JSON array instead of lines."},
		{Name: "chrome", Usage: "Write Chrome's trace event JSON, for tools that read only that. wprof-perfetto makes smaller traces that show more."},
		{Name: "firefox", Usage: "Write a profile for the Firefox Profiler: CPU and off-CPU time of each thread with stacks, and markers. profiler.firefox.com opens it, and sends it nowhere unless you upload it."},
		{Name: "parquet", Kind: cli.String, Value: "FOLDER", Files: true, Usage: "Write Parquet files into this folder, one a kind of event, and stacks, frames, tasks and session. Times are whole nanoseconds."},
		{Name: "schema", Kind: cli.Optional, Value: "FORM", Choices: []string{"json", "md"}, Usage: "Print what the lines look like, as JSON Schema or, with --schema=md, for people, and read nothing."},
	}}
}

// RangeFlags choose a time.
func RangeFlags() cli.Group {
	return cli.Group{Title: "Which time", Flags: filter.RangeFlags(
		"Times still count from the opening of the window, and the header's start_ts tells this one; how long a thread was off its CPU counts from here on.", "The header's dur ends there.")}
}

// OutputFlags say where it goes.
func OutputFlags() cli.Group {
	return cli.Group{Title: "Output", Flags: []cli.Flag{
		{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
		cli.FailOnLoss(),
	}}
}
