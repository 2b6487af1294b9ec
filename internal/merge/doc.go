// Package merge puts the records of a spool into the order of time: those of all rings, of the side-band and of lists of
// tasks. Rounds of draining determine up to which time all records are there. Its memory does not grow with the length of the
// recording. docs/spool.md explains the order and the bounds.
package merge
