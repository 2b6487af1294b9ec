// Package filter keeps the part of a stream that is wanted.
//
// It selects threads by their definitions and events by CPU, kind and time, and writes a whole stream of what is kept:
// docs/wprof-filter.md says what each condition applies to. The recorder has the same flags and filters in the kernel.
package filter
