// Package profiles opens what wprof-flame writes of real captures in the programs that it is for, pprof and speedscope, and
// holds what they show against what a workload measured for itself.
package profiles
