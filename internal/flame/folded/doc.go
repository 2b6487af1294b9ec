// Package folded writes folded stacks, as flamegraph.pl and inferno read them.
package folded
