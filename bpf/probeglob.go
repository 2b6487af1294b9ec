//go:build linux

package bpf

import (
	"slices"

	"wprof/internal/probe"
)

// probeGlobs numbers the patterns of the strings that probes compare.
type probeGlobs struct{ all []string }

func (g *probeGlobs) number(pattern string) int {
	if at := slices.Index(g.all, pattern); at >= 0 {
		return at
	}
	g.all = append(g.all, pattern)
	return len(g.all) - 1
}

// globMachine mirrors struct probe_glob in probe.h.
type globMachine struct {
	Stays, Matched uint64
	Next           [256]uint64
}

// compileGlob makes the machine of a pattern with * and ?; a backslash takes the next character as it is.
func compileGlob(pattern string) *globMachine {
	m, state := new(globMachine), uint64(1)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			m.Stays |= state
			continue
		case state == 1<<probe.MaxGlob: // longer ones are refused before
			return m
		case c == '?':
			for any := 1; any < len(m.Next); any++ {
				m.Next[any] |= state
			}
		default:
			if c == '\\' && i+1 < len(pattern) {
				i++
				c = pattern[i]
			}
			m.Next[c] |= state
		}
		state <<= 1
	}
	m.Matched = state
	return m
}
