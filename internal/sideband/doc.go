// Package sideband tracks which code is mapped where in every process, at any time of a recording.
//
// The kernel reports it as it happens, in the side-band records of perf: new executable mappings, execs, forks, exits. A
// [Watcher] turns those into compact records for the spool and opens the file behind each new mapping at once, so that
// deleted files, containers and processes of a few milliseconds still have names at the end. [Tables] take the records
// in the order of time and resolve an address to a file and an offset in it.
package sideband
