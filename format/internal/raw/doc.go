// Package raw reads and writes the parts of blocks straight from the table of kinds. It writes faults that a
// [format.Writer] refuses, and reads what a [format.Reader] skips. It is slow, and shares no code with the codec of package
// format: tests compare the two.
package raw
