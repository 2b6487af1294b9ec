// Package assemble makes the stream from a spool: [Finalise] reads its records in the order of time, resolves threads and
// code addresses, tracks the scheduler's state, and writes events and definitions, after the
// recording or, live, during it. Its memory does not grow with the length of the recording.
package assemble
