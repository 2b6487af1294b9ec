// Package perfetto writes what package tracks draws as a trace in Perfetto's format.
//
// Perfetto derives CPU tracks, thread states and wakeup arrows from the kernel's own scheduling events, so that is what
// it gets: bundles of ftrace events of one CPU each. Switches and wakings go into columns ("compact") without the
// thread that leaves a CPU: the engine infers it from the event before. See [cpu] for how the inference stays correct where
// the stream does not have every switch. [encoder] holds, per CPU and per thread, what was written so far, which may differ from
// what is known: the scheduler state is in internal/timeline.
//
// Samples are packets of their own, on a sequence for each source: stacks, frames, modules and functions are interned
// there, each described before the first sample that needs it, and described again from time to time.
//
// A [view] writes what each thread does: slices, each written whole when it ends, on sequences that describe a name
// once and have a clock of their own, because most of a trace consists of them.
//
// Times are CLOCK_BOOTTIME, the clock that Perfetto assumes for ftrace.
package perfetto
