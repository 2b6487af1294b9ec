// Package spell formats and parses values for the text form: times, CPUs, states, names of small sets of numbers. The
// checker's findings use it too.
package spell
