// Package speedscope writes what threads did in order of time, for speedscope.
package speedscope
