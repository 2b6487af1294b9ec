// Package pmu reads events of performance counters as perf writes them, and finds out what perf_event_open(2) takes for them on a
// machine: from the tables of generic events, from the descriptions of its PMUs in sysfs, and from those of its tracepoints.
//
// It opens no event, and works on any system.
package pmu
