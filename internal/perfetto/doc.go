// Package perfetto writes what a stream tells as a trace in Perfetto's format.
//
// Perfetto derives CPU tracks, thread states and wakeup arrows from the kernel's own scheduling events, so that is what
// it gets: bundles of ftrace events of one CPU each. Switches and wakings go into columns ("compact") in which the
// thread that leaves a CPU is not told but inferred from the event before; see [cpu] for how the two are kept in step
// where the stream does not tell every switch. [Encoder] takes events in order and holds, per CPU and per thread, what
// Perfetto has been shown so far. That is not always what is known: internal/timeline knows the scheduler's state, this
// package knows the picture of it.
//
// Samples are packets of their own, on a sequence for each source: stacks, frames, modules and functions are interned
// there, each told before the first sample that needs it, and told again from time to time.
//
// What each thread does is drawn from the spans of internal/timeline, see [view]: slices, each written whole when its span
// ends, on sequences that tell a name once and times by a clock of their own, because most of a trace is made of them.
//
// Times are CLOCK_BOOTTIME, which is what Perfetto takes ftrace's times for.
package perfetto
