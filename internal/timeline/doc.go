// Package timeline turns ordered events into scheduler state: who runs on each CPU, and for each thread whether it
// runs, since when, in which state it left, and who woke it.
//
// State belongs to threads, which are identified by tid and start time over renames, execs and sections, never to CPUs. It
// is derived from switches, states and wakings alone, so that leaving out another kind of event changes nothing here. What
// the stream does not show is unknown: nothing is guessed.
package timeline
