// Package profiles opens profiles of real captures in pprof and speedscope, and compares what they show with what a
// workload measured for itself.
package profiles
