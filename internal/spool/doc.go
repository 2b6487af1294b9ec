// Package spool has the file between the rings of the kernel programs and the stream: raw ring bytes on disk, written while
// the window is open, and what can be salvaged of it.
//
// A [Writer] appends chunks and decodes nothing. A [Spool] reads one: the file of a Writer of this process, or what a killed
// recorder has left behind. Package merge puts its records into order, and package assemble makes the stream of them.
// docs/spool.md describes the file, the order and the bounds.
package spool
