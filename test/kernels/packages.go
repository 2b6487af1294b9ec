package main

import "strings"

// pkg is a row of test/kernels/packages.
type pkg struct {
	path  string // ./bpf
	skips []leftOut
}

// leftOut are tests that scripts/test-kernels does not run.
type leftOut struct{ tests, why string }

func parsePackages(text string) (all []pkg) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "package":
			all = append(all, pkg{path: rest})
		case "skip":
			tests, why, _ := strings.Cut(rest, ": ")
			last := &all[len(all)-1]
			last.skips = append(last.skips, leftOut{"that match `" + tests + "`", "they " + why})
		case "only":
			tests, why, _ := strings.Cut(rest, ": ")
			last := &all[len(all)-1]
			last.skips = append(last.skips, leftOut{"that do not match `" + tests + "`", why})
		}
	}
	return all
}
