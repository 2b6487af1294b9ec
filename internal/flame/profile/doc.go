// Package profile adds up where the time of a capture went: for each thread, how long it was at which place in the code, on a
// CPU, waiting for one, or blocked.
//
// Times are the scheduler's: the times of a thread on and off the CPU lie end to end ([timeline.Spans]), so the times of a thread
// add up to its lifetime in the window, to the nanosecond. Samples only say where in the code a time on the CPU was spent.
package profile
