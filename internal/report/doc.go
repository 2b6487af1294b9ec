// Package report answers where the time of a capture's threads went and what held them up: in one pass over the stream and in
// bounded memory it adds up their time by class, the functions on the CPU, waits, locks with their owners and delays for a CPU, and derives
// findings from these.
package report
