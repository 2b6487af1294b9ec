// Package filter selects a part of a stream.
//
// It selects threads by their definitions and events by CPU, kind and time, and writes a complete stream of them.
// docs/wprof-filter.md describes the conditions. The recorder has the same flags and filters in the kernel.
package filter
