package symbol

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxDiffering bounds the paths that are remembered, and maxDifferingShown those in the warning.
	maxDiffering      = 4 << 10
	maxDifferingShown = 3
)

// differing are the paths of files that are not used, because they are of another build than the recorded ones.
type differing struct {
	paths []string // in the order in which they were found
	seen  map[string]bool
	more  bool // than maxDiffering
}

func (d *differing) add(paths []string) {
	for _, p := range paths {
		if p == "" || d.seen[p] {
			continue
		}
		if len(d.paths) >= maxDiffering {
			d.more = true
			return
		}
		if d.seen == nil {
			d.seen = make(map[string]bool)
		}
		d.seen[p] = true
		d.paths = append(d.paths, p)
	}
}

// Differing returns a warning about files that are of another build than the recorded ones; "": there is none. It leaves out those
// whose functions were found elsewhere.
func (r *Resolver) Differing() string {
	n := len(r.differing.paths)
	if n == 0 {
		return ""
	}
	shown := slices.Clone(r.differing.paths[:min(n, maxDifferingShown)])
	for i, p := range shown {
		shown[i] = fmt.Sprintf("%q", p)
	}
	list := strings.Join(shown, ", ")
	if n > len(shown) || r.differing.more {
		list += fmt.Sprintf(" and %d more", n-len(shown))
	}
	if r.differing.more {
		list += " at least"
	}
	return fmt.Sprintf("not used, because it was replaced after the recording or is of another build: %s", list)
}
