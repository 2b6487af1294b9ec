// Package probe records programs that call their functions a known number of times, by user-defined probes of every kind, and compares the
// events with what the programs did. It runs the examples of docs/utrace.md.
package probe
