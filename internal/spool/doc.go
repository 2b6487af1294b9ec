// Package spool stands between the rings of the kernel programs and the stream: raw ring bytes on disk while the
// window is open, put into order and turned into events afterwards, or on the way in a live recording.
//
// A [Writer] appends chunks to the spool file and decodes nothing. A [Spool] reads one: the file of a Writer of this
// process, or what a killed recorder has left behind. [Spool.Finalise] merges the rings in the order of time, finds
// out who every thread was, keeps the scheduler's state, and writes the stream. Its memory does not grow with the
// length of the recording. docs/spool.md describes the file, the order and the bounds.
package spool
