// Package profile adds up the time of each thread of a capture by call stack: on a CPU, runnable and blocked.
//
// Times come from context switches: the on-CPU and off-CPU intervals of a thread lie end to end ([timeline.Spans]), so its times
// add up to its lifetime in the window, to the nanosecond. Samples only show where in the code on-CPU time was spent.
package profile
