// Package proc reads what the recorder needs of the machine and of itself: host, kernel, CPUs with their
// NUMA nodes, clocks, capabilities, threads, and what the recorder has cost so far.
package proc
