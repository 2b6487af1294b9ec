// Package stranger tests that FORMAT.md is enough to read and write captures: it compares a reader and a writer in another language,
// made from that page alone, with the tools.
package stranger
