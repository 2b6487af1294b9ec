// Package raw reads and writes the parts of blocks directly from the table of kinds. It writes faults that a
// [format.Writer] rejects, and reads what a [format.Reader] skips. It is slow, and shares no code with the codec of package
// format: tests compare the two.
package raw
