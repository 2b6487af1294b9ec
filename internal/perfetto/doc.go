// Package perfetto writes what package tracks draws as a trace in Perfetto's format.
//
// Perfetto derives CPU tracks, thread states and wakeup arrows from the kernel's own scheduling events, so that is what
// it gets: bundles of ftrace events of one CPU each. Switches and wakings go into columns ("compact") that lack the
// thread that leaves a CPU: the engine infers it from the event before. See [cpu] for how the two are kept in step where
// the stream does not have every switch. [encoder] holds, per CPU and per thread, what Perfetto has been shown so far. That
// is not always what is known: internal/timeline has the scheduler's state, this package the picture of it.
//
// Samples are packets of their own, on a sequence for each source: stacks, frames, modules and functions are interned
// there, each described before the first sample that needs it, and described again from time to time.
//
// What each thread does is written by a [view]: slices, each written whole when it ends, on sequences that describe a name
// once and have times by a clock of their own, because most of a trace is made of them.
//
// Times are CLOCK_BOOTTIME, which is what Perfetto takes ftrace's times for.
package perfetto
