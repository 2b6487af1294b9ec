// Package proc reads what the recorder must know about the machine and about itself: host, kernel, CPUs with their
// NUMA nodes, clocks, capabilities, and what the recorder has cost so far. What a file of /proc or /sys says is
// parsed here and nowhere else.
package proc
