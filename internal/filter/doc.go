// Package filter keeps the part of a stream that somebody wants to see.
//
// It judges threads by their definitions, records by CPU, kind and time, and writes a stream again that tells the same
// story about what is kept: docs/wprof-filter.md says what each condition judges. The recorder reads the same flags
// and judges in the kernel.
package filter
