// Package flame folds a capture into where time went: for each thread, how long it was at which place in the code, on a
// CPU, waiting for one, or waiting for something else; and writes that as folded stacks, pictures and profiles.
//
// Time is the scheduler's own: a thread's times on and off the CPU, which lie end to end ([timeline.Spans]), so that what
// is told of a thread adds up to its lifetime in the window to the nanosecond. Samples only say where in the code a time on
// the CPU was spent.
package flame
