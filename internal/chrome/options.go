package chrome

import "wprof/internal/stacks"

// Options select what a trace shows.
type Options struct {
	NoStacks bool // no stack, and no function that a thread is blocked in
	Python   stacks.PythonView
	Numa     bool // the NUMA node of each CPU
}

// Result is the result of a conversion.
type Result struct {
	Events         int64  // of the stream
	Bytes          int64  // of the trace
	DroppedThreads int64  // see [timeline.Timeline]
	Lost           bool   // events are missing
	NotUTF8        string // the first text that held other bytes than UTF-8, as it is shown; "": none did
}
