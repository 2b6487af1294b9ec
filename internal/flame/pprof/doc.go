// Package pprof writes a profile for go tool pprof.
package pprof
