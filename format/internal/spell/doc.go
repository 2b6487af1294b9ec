// Package spell is how the text form writes values: times, CPUs, states, the names of small sets of numbers. The text form
// and the checker's findings use the same words.
package spell
