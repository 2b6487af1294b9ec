// Package python knows what CPython's interpreter keeps in memory: where its threads, frames and code objects are, and what those say. It
// reads files and bytes that others have taken from processes, and trusts none of them.
package python

//go:generate go run ./internal/gen
