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

// pprofTables has the locations of a pprof profile. A location has the id of its frame. The ids of notes come after those of
// all frames.
type pprofTables struct {
	p         *profile.Profile
	v         graph.View
	frames    []bool  // used
	ns        []int64 // of all cells that a frame is in
	notes     []string
	functions map[gprofile.Function]*gprofile.Function
}

// moduleKey identifies a version of a file, or other code.
type moduleKey struct {
	path, buildID string
	kernel        bool
}

// moduleRange is the part of a module that has used frames, in whole pages.
type moduleRange struct {
	moduleKey
	first, last uint64 // offsets of the first and the last page
	ns          int64  // of its frames
}

// isProgram reports whether a file is a program, not a library, by the rule that pprof uses.
func (m *moduleKey) isProgram() bool {
	base := path.Base(m.path)
	return !m.kernel && !strings.HasPrefix(base, "[") && !strings.HasSuffix(base, ".so") && !strings.Contains(base, ".so.")
}

const (
	pprofPage = 4096
	// Addresses are synthetic, because one profile has many processes: modules of programs are placed one after the other
	// from the traditional link address of programs on.
	pprofUser = 0x400000
	// The kernel is at its link address on x86-64, so that addresses match its vmlinux, and its modules where they
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

// use marks the frames and notes of a cell.
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

// fill adds the used locations to a profile.
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
			markSymbolized(m, f)
		}
		file.Location = append(file.Location, l)
	}
	for i, note := range t.notes {
		line := gprofile.Line{Function: t.function(file, profile.Function{Name: note})}
		file.Location = append(file.Location, &gprofile.Location{ID: t.noteID(i), Line: []gprofile.Line{line}})
	}
	file.Mapping = slices.SortedFunc(maps.Values(mappings), func(a, b *gprofile.Mapping) int { return cmp.Compare(a.ID, b.ID) })
}

// note returns the location of a used note.
func (t *pprofTables) note(note string) uint64 { return t.noteID(slices.Index(t.notes, note)) }

func (t *pprofTables) noteID(i int) uint64 { return uint64(len(t.p.Frames) + i) }

// markSymbolized sets which names a mapping's locations have. Only if none has a function name does pprof look for the file, by
// its build-id, to symbolize them.
func markSymbolized(m *gprofile.Mapping, f *profile.Frame) {
	m.HasFunctions = m.HasFunctions || isNamed(f)
	m.HasInlineFrames = m.HasInlineFrames || len(f.Functions) > 1
	for _, fn := range f.Functions {
		m.HasFilenames = m.HasFilenames || fn.File != ""
		m.HasLineNumbers = m.HasLineNumbers || fn.Line != 0
	}
}

// lines returns a frame's functions, the innermost inlined one first.
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

// isNamed reports whether a frame has the name of a function, not only its module's name in brackets.
func isNamed(f *profile.Frame) bool {
	first := &f.Functions[0]
	return first.Linkage != "" || !strings.HasPrefix(first.Name, "[")
}

// moduleOf returns the module of a frame.
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

// ranges returns the modules of the used frames: programs with the most time first, because pprof shows the first module's name
// as the title, and then others in the order of their first frame.
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

// programNs returns a program's time; -1 for other modules, which sort after all programs.
func (r *moduleRange) programNs() int64 {
	if r.isProgram() {
		return r.ns
	}
	return -1
}

// pprofPlaces has the next free addresses.
type pprofPlaces struct {
	user, modules uint64
	hasKernel     bool
}

// place finds room for size bytes of a module. A page between two modules keeps pprof from merging them. Only a damaged or
// hostile capture has offsets that fit nowhere; such a module gets no addresses.
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

// isKernel reports whether a module is the kernel itself, not one of its modules.
func (m *moduleKey) isKernel() bool { return m.kernel && m.path == "[kernel]" }

// pprofFile returns the module's name in pprof's notation.
func pprofFile(m moduleKey) string {
	if m.isKernel() {
		return "[kernel.kallsyms]"
	}
	return text(m.path)
}

// text replaces invalid UTF-8, which the format does not allow.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
