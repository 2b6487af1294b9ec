// Package cli is what all tools share: flags and their spellings, help, completion and manual pages made from the flag
// definitions, units, exit status, signals, inputs and outputs.
//
// A tool is a [Tool] value and one call of [Main]. Its help, completion and manual page are generated from the [Flag] values
// in it. Parsing itself is urfave/cli's; before it, one pass over the arguments turns all accepted spellings into the one that
// it reads.
package cli
