package symbolize

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wprof/format"
)

const (
	// maxAbsent bounds the paths that are remembered, and maxAbsentShown those in the warning.
	maxAbsent      = 4 << 10
	maxAbsentShown = 3
)

// absent are files that were not found, with the number of their frames that have no names.
type absent struct {
	frames map[string]int // by path
	total  int            // also those of files beyond maxAbsent
	more   bool           // than maxAbsent
}

func (a *absent) add(path []byte, frames int) {
	a.total += frames
	if _, known := a.frames[string(path)]; !known && len(a.frames) >= maxAbsent {
		a.more = true
		return
	}
	if a.frames == nil {
		a.frames = make(map[string]int)
	}
	a.frames[string(path)] += frames
}

// warning names the files with the most frames; "": there is none.
func (a *absent) warning() string {
	if a.total == 0 {
		return ""
	}
	files, frames, what := "1 file was", "1 frame has no name", "it"
	if n := len(a.frames); n > 1 {
		files = fmt.Sprintf("%d files were", n)
	}
	if a.more {
		files = "at least " + files
	}
	if a.total > 1 {
		frames, what = fmt.Sprintf("%d frames have no names", a.total), "them"
	}
	return fmt.Sprintf("%s not found, so that %s: %s; --debug-dir, --debuginfod or --symbol-archive can provide %s", files, frames, a.list(), what)
}

func (a *absent) list() string {
	paths := slices.SortedFunc(maps.Keys(a.frames), func(x, y string) int {
		return cmp.Or(cmp.Compare(a.frames[y], a.frames[x]), cmp.Compare(x, y))
	})
	var quoted []string
	for _, p := range paths[:min(len(paths), maxAbsentShown)] {
		quoted = append(quoted, fmt.Sprintf("%q", p))
	}
	list := strings.Join(quoted, ", ")
	switch n := len(paths) - len(quoted); n {
	case 0:
	case 1:
		list += " and 1 other"
	default:
		list += fmt.Sprintf(" and %d others", n)
	}
	return list
}

// countUnnamed counts frames of a module that have no names, if its file was not found. Files in memory (memfd_create) are in no
// directory.
func (r *finder) countUnnamed(m *format.Module, frames int) {
	if frames > 0 && r.IsAbsent(m) && !bytes.HasPrefix(m.Path, []byte("/memfd:")) {
		r.absent.add(m.Path, frames)
	}
}
