// Package assemble makes the stream of a spool: [Finalise] takes its records in the order of time, finds out who every
// thread was and which code addresses belong to, keeps the scheduler's state, and writes events and definitions, after the
// recording or, live, during it. Its memory does not grow with the length of the recording.
package assemble
