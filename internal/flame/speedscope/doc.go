// Package speedscope writes the stacks of each thread in order of time, for speedscope.
package speedscope
