// Command wprof-json writes a capture as JSON lines, and as columns, for scripts.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/ndjson"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-json",
		Summary:   "convert a capture to JSON lines or Parquet files, for scripts",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes JSON lines: a header, then one line per stack, then one per event in order of time. " +
			"jq, pandas and DuckDB read them directly; --schema prints their schema. Several files are read as one stream.",
		Groups: []cli.Group{ndjson.WhatFlags(), ndjson.FormFlags(), ndjson.RangeFlags(), ndjson.OutputFlags()},
		Examples: []cli.Example{
			{Command: `wprof-json host.wprof | jq -c 'select(.t == "switch" and .offcpu_dur > 0.1)'`, Text: "Threads that run again after more than 100 ms off the CPU."},
			{Command: "wprof-json --parquet columns host.wprof && duckdb -c \"select next.comm, max(offcpu_dur) from 'columns/switch.parquet' group by 1\"", Text: "SQL on a capture."},
			{Command: `sudo wprof-record --live | wprof-json --stream -k exec --fields task,filename | jq -c 'select(.t) | .filename'`, Text: "Programs as they are executed."},
			{Command: "wprof-filter -p 1234 host.wprof | wprof-json --time ns --array -o process.json", Text: "One process, as one JSON array, with times in nanoseconds."},
			{Command: "wprof-json --firefox host.wprof -o profile.json", Text: "A profile for profiler.firefox.com."},
			{Command: "wprof-json --chrome host.wprof -o trace.json", Text: "For tools that read only Chrome's trace events."},
		},
		Filters:  filter.Conditions(),
		CThreads: true, // the library that writes columns links package net
		Run:      ndjson.Run,
	})
}
