// Package proc reads what the recorder needs of the machine and of itself: host, kernel, CPUs with their
// NUMA nodes, cores and caches, clocks, capabilities, threads, and what the recorder has cost so far.
package proc
