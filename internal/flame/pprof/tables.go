package pprof

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	gprofile "github.com/google/pprof/profile"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// pprofTables are the places in the code that a pprof profile names. A location has the id of its frame; notes, which are
// no frames, come after all frames.
type pprofTables struct {
	p         *profile.Profile
	v         graph.View
	frames    []bool  // used
	ns        []int64 // of all cells that a frame is in
	notes     []string
	functions map[gprofile.Function]*gprofile.Function
}

// moduleKey is a file, or another piece of code, at one version.
type moduleKey struct {
	path, buildID string
	kernel        bool
}

// moduleRange is what of a module the used frames are in, in whole pages.
type moduleRange struct {
	moduleKey
	first, last uint64 // offsets of the first and the last page
	ns          int64  // of its frames
}

// isProgram tells of a file that is no library, as pprof does.
func (m *moduleKey) isProgram() bool {
	base := path.Base(m.path)
	return !m.kernel && !strings.HasPrefix(base, "[") && !strings.HasSuffix(base, ".so") && !strings.Contains(base, ".so.")
}

const (
	pprofPage = 4096
	// Addresses are made up, because one profile has many processes: modules of programs stand one after the other from
	// where the first program used to be linked to.
	pprofUser = 0x400000
	// The kernel stands where x86-64 links it to, so that addresses are those in its own vmlinux, and its modules where they
	// are loaded.
	pprofKernel  = 0xffffffff81000000
	pprofModules = 0xffffffffc0000000
)

func newPprofTables(p *profile.Profile, v graph.View) *pprofTables {
	return &pprofTables{
		p: p, v: v, frames: make([]bool, len(p.Frames)), ns: make([]int64, len(p.Frames)),
		functions: make(map[gprofile.Function]*gprofile.Function),
	}
}

// use marks what a cell is at.
func (t *pprofTables) use(c *profile.Cell) {
	for id := c.Stack; id != 0; id = t.p.Nodes[id].Parent {
		frame := t.p.Nodes[id].Frame
		t.frames[frame] = true
		t.ns[frame] += c.Ns
	}
	if note := pprofNote(&t.v, c); note != "" && !slices.Contains(t.notes, note) {
		t.notes = append(t.notes, note)
	}
}

// fill puts the used places into a profile.
func (t *pprofTables) fill(file *gprofile.Profile) {
	mappings := t.mappings()
	for id := range t.frames {
		if !t.frames[id] {
			continue
		}
		f := &t.p.Frames[id]
		l := &gprofile.Location{ID: uint64(id), Line: t.lines(file, f)}
		if m := mappings[moduleOf(f)]; m != nil && !f.Note {
			l.Mapping = m
			l.Address = f.Offset - m.Offset + m.Start
			if m.Limit == 0 {
				l.Address = 0
			}
			told(m, f)
		}
		file.Location = append(file.Location, l)
	}
	for i, note := range t.notes {
		line := gprofile.Line{Function: t.function(file, profile.Function{Name: note})}
		file.Location = append(file.Location, &gprofile.Location{ID: t.noteID(i), Line: []gprofile.Line{line}})
	}
	file.Mapping = slices.SortedFunc(maps.Values(mappings), func(a, b *gprofile.Mapping) int { return cmp.Compare(a.ID, b.ID) })
}

// note is the location of a note that is used.
func (t *pprofTables) note(note string) uint64 { return t.noteID(slices.Index(t.notes, note)) }

func (t *pprofTables) noteID(i int) uint64 { return uint64(len(t.p.Frames) + i) }

// told says what is known of a mapping's locations. Only where no function at all has a name, pprof looks for the file, by
// its build-id, to find out more.
func told(m *gprofile.Mapping, f *profile.Frame) {
	m.HasFunctions = m.HasFunctions || isNamed(f)
	m.HasInlineFrames = m.HasInlineFrames || len(f.Functions) > 1
	for _, fn := range f.Functions {
		m.HasFilenames = m.HasFilenames || fn.File != ""
		m.HasLineNumbers = m.HasLineNumbers || fn.Line != 0
	}
}

// lines are a frame's functions, what is inlined innermost first.
func (t *pprofTables) lines(file *gprofile.Profile, f *profile.Frame) []gprofile.Line {
	lines := make([]gprofile.Line, 0, len(f.Functions))
	for _, fn := range slices.Backward(f.Functions) {
		lines = append(lines, gprofile.Line{Function: t.function(file, fn), Line: int64(fn.Line)})
	}
	return lines
}

func (t *pprofTables) function(file *gprofile.Profile, fn profile.Function) *gprofile.Function {
	key := gprofile.Function{Name: text(fn.Name), SystemName: text(fn.Linkage), Filename: text(fn.File)}
	if key.SystemName == "" {
		key.SystemName = key.Name
	}
	if found := t.functions[key]; found != nil {
		return found
	}
	made := &gprofile.Function{
		ID: uint64(len(file.Function) + 1), Name: key.Name, SystemName: key.SystemName, Filename: key.Filename,
	}
	t.functions[key] = made
	file.Function = append(file.Function, made)
	return made
}

// isNamed is false of a frame that has but its module's name in brackets.
func isNamed(f *profile.Frame) bool {
	first := &f.Functions[0]
	return first.Linkage != "" || !strings.HasPrefix(first.Name, "[")
}

// module is where a frame is.
func moduleOf(f *profile.Frame) moduleKey { return moduleKey{f.Module, f.BuildID, f.Kernel} }

// mappings places the modules of the used frames so that they do not overlap.
func (t *pprofTables) mappings() map[moduleKey]*gprofile.Mapping {
	next := pprofPlaces{user: pprofUser, modules: pprofModules}
	all := make(map[moduleKey]*gprofile.Mapping)
	for i, r := range t.ranges() {
		m := &gprofile.Mapping{ID: uint64(i + 1), File: pprofFile(r.moduleKey), BuildID: text(r.buildID)}
		if size := r.last - r.first + pprofPage; size >= pprofPage {
			if start, fits := next.place(&r, size); fits {
				m.Start, m.Limit, m.Offset = start, start+size, r.first
			}
		}
		all[r.moduleKey] = m
	}
	return all
}

// ranges are the modules of the used frames in the order of their first frame; but the program that most time was spent
// in comes first, because pprof puts the first one's name above what it shows.
func (t *pprofTables) ranges() []moduleRange {
	var all []moduleRange
	index := make(map[moduleKey]int)
	for id := range t.frames {
		f := &t.p.Frames[id]
		if !t.frames[id] || f.Note || f.Module == "" {
			continue
		}
		page := f.Offset &^ (pprofPage - 1)
		i, found := index[moduleOf(f)]
		if !found {
			i = len(all)
			index[moduleOf(f)] = i
			all = append(all, moduleRange{moduleKey: moduleOf(f), first: page, last: page})
		}
		r := &all[i]
		r.first, r.last, r.ns = min(r.first, page), max(r.last, page), r.ns+t.ns[id]
	}
	slices.SortStableFunc(all, func(a, b moduleRange) int { return cmp.Compare(b.programNs(), a.programNs()) })
	return all
}

// programNs puts what is no program behind all that are.
func (r *moduleRange) programNs() int64 {
	if r.isProgram() {
		return r.ns
	}
	return -1
}

// pprofPlaces are the first addresses that are free.
type pprofPlaces struct {
	user, modules uint64
	hasKernel     bool
}

// place finds room for size bytes of a module. A page between two modules keeps pprof from taking them for one. What fits
// nowhere can only be an address that a damaged or hostile capture made up: it has no addresses then.
func (p *pprofPlaces) place(r *moduleRange, size uint64) (start uint64, fits bool) {
	at, end := &p.user, uint64(1)<<63
	switch {
	case r.isKernel() && !p.hasKernel && r.last < pprofModules-pprofKernel-pprofPage:
		p.hasKernel = true
		return pprofKernel + r.first, true
	case r.kernel:
		at, end = &p.modules, ^uint64(pprofPage-1)
	}
	if size > end-*at-pprofPage {
		return 0, false
	}
	start = *at
	*at += size + pprofPage
	return start, true
}

// isKernel tells of the kernel itself, which modules of it are not.
func (m *moduleKey) isKernel() bool { return m.kernel && m.path == "[kernel]" }

// pprofFile is the module's name as pprof knows it.
func pprofFile(m moduleKey) string {
	if m.isKernel() {
		return "[kernel.kallsyms]"
	}
	return text(m.path)
}

// text is what a format may hold whose texts are UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
