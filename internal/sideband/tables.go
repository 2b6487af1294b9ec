package sideband

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"wprof/format"
)

// Tables are the executable mappings of every process, as of the record that was applied last. They take
//
//   - 64 bytes for each mapping, of which there may be maxMappings; forks share those of their parent until they differ;
//   - some 200 bytes for each file and for each process.
type Tables struct {
	processes map[uint32]*process
	modules   map[format.ModuleKey]*format.Module
	kept      map[fileKey]keptFile
	mappings  int
	codePages int // references from pages to generated functions
	versions  uint64
	clock     int64                     // time of the last record
	numbered  map[uint64]*format.Module // those of KindModule records
}

const (
	maxMappings = 1 << 20
	// maxProcesses bounds processes whose end was not recorded.
	maxProcesses = 1 << 17
	// maxModules bounds the modules. Beyond it all are dropped, and created again when they are needed.
	maxModules = 1 << 17
	// grace is how long the mappings of a process stay after its end and their last use, ns.
	grace = 10e9
)

type process struct {
	maps    *space
	version uint64
	exited  int64 // when its first thread ended; 0: it has not
	used    int64 // when an address was last looked up, or a mapping added
	jit     *format.Module
	codes   *codes // of its jitdump, shared with processes that it has forked; nil: none
	began   int64  // when its program began
}

// space is what processes share after a fork.
type space struct {
	maps   []mapping // by start; they do not overlap
	owners int
}

type mapping struct {
	start, end uint64
	offset     uint64 // in the module, at start
	module     *format.Module
}

type fileKey struct{ device, inode, generation uint64 }

// keptFile is the data of a file in a [KindKept] record.
type keptFile struct {
	build      []byte
	generation uint64
	state      fileState
}

// fileState changes when a file is overwritten in place: see format.Module. The zero value is unknown.
type fileState struct{ size, mtime, ctime uint64 }

func (s fileState) put(r *Record) { r.Length, r.Start, r.Count = s.size, s.mtime, s.ctime }

func stateIn(r *Record) fileState { return fileState{r.Length, r.Start, r.Count} }

func stateOf(m *format.Module) fileState { return fileState{m.Size, m.Mtime, m.Ctime} }

// NewTables returns tables without a process.
func NewTables() *Tables {
	return &Tables{
		processes: make(map[uint32]*process), modules: make(map[format.ModuleKey]*format.Module), kept: make(map[fileKey]keptFile),
	}
}

// Apply applies the next record; their times must not decrease. Records about anything but mappings change nothing.
func (t *Tables) Apply(r *Record) {
	t.clock = max(t.clock, r.Time)
	switch r.Kind {
	case KindMap:
		t.add(r)
	case KindExec:
		p := t.process(r.PID)
		t.release(p)
		p.maps, p.jit, p.codes, p.exited, p.began = &space{owners: 1}, nil, nil, 0, r.Time
		t.changed(p)
	case KindFork:
		t.fork(r)
	case KindExit:
		if p := t.processes[r.PID]; p != nil {
			p.exited = r.Time
		}
	case KindKept:
		t.kept[fileKey{r.Device, r.Inode, r.Generation}] = keptFile{build: bytes.Clone(r.BuildID), generation: r.Offset, state: stateIn(r)}
	case KindJIT:
		t.jit(t.process(r.PID), r)
	case KindCode:
		t.code(t.process(r.PID), r)
	case KindModule:
		t.number(r)
	case KindMapped:
		t.addMapped(r)
	}
}

func (t *Tables) changed(p *process) {
	t.versions++
	p.version = t.versions
}

func (t *Tables) process(pid uint32) *process {
	p := t.processes[pid]
	if p == nil {
		if len(t.processes) >= maxProcesses {
			t.makeRoom()
		}
		p = &process{maps: &space{owners: 1}, used: t.clock}
		t.processes[pid] = p
		t.changed(p)
	}
	return p
}

// release drops a process's reference to its mappings.
func (t *Tables) release(p *process) {
	p.maps.owners--
	if p.maps.owners == 0 {
		t.mappings -= len(p.maps.maps)
	}
	if p.codes != nil {
		if p.codes.owners--; p.codes.owners == 0 {
			t.codePages -= p.codes.refs
		}
	}
}

// fork gives a new process the mappings of its parent. An earlier one with its id has ended.
func (t *Tables) fork(r *Record) {
	pid := r.PID
	if old := t.processes[pid]; old != nil {
		t.release(old)
		delete(t.processes, pid)
	}
	from := t.processes[r.Parent]
	if from == nil {
		return
	}
	from.maps.owners++
	if from.codes != nil {
		from.codes.owners++
	}
	p := &process{maps: from.maps, codes: from.codes, used: t.clock, began: r.Time}
	t.processes[pid] = p
	t.changed(p)
}

// own gives a process a copy of shared mappings, so that it can change them.
func (t *Tables) own(p *process) {
	if p.maps.owners == 1 {
		return
	}
	p.maps.owners--
	p.maps = &space{maps: slices.Clone(p.maps.maps), owners: 1}
	t.mappings += len(p.maps.maps)
}

// add inserts a mapping. It replaces what it overlaps, as mmap(2) with MAP_FIXED does.
func (t *Tables) add(r *Record) {
	end := r.Start + r.Length
	if r.Length == 0 || end < r.Start {
		return
	}
	p := t.process(r.PID)
	m := mapping{start: r.Start, end: end, offset: r.Offset, module: t.module(p, r)}
	switch format.ModuleKind(m.module.Kind) {
	case format.ModuleKind_MODULE_FILE:
	case format.ModuleKind_MODULE_VDSO:
		m.offset = 0
	default:
		m.offset = r.Start
	}
	t.insert(p, m)
}

// insert puts a mapping into those of a process.
func (t *Tables) insert(p *process, m mapping) {
	p.used = t.clock
	if p.maps.has(&m) {
		return // perf reported it and it was read from /proc, or only its protection has changed
	}
	if t.mappings >= maxMappings {
		return
	}
	t.own(p)
	before := len(p.maps.maps)
	p.maps.put(m)
	t.mappings += len(p.maps.maps) - before
	t.changed(p)
}

// has reports whether a mapping is there already.
func (s *space) has(m *mapping) bool {
	i := s.find(m.start)
	return i >= 0 && m.end <= s.maps[i].end && s.maps[i].module == m.module && s.maps[i].offset+(m.start-s.maps[i].start) == m.offset
}

// find returns the index of the mapping that contains an address; -1: none does.
func (s *space) find(address uint64) int {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].start > address }) - 1
	if i >= 0 && address < s.maps[i].end {
		return i
	}
	return -1
}

// put inserts a mapping, replacing what it covers.
func (s *space) put(m mapping) {
	from := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].end > m.start })
	to := from
	var pieces [3]mapping
	now := pieces[:0]
	if to < len(s.maps) && s.maps[to].start < m.start {
		left := s.maps[to]
		left.end = m.start
		now = append(now, left)
	}
	now = append(now, m)
	for ; to < len(s.maps) && s.maps[to].start < m.end; to++ {
		if old := s.maps[to]; old.end > m.end {
			now = append(now, mapping{m.end, old.end, old.offset + (m.end - old.start), old.module})
		}
	}
	s.maps = slices.Replace(s.maps, from, to, now...)
	s.join(m.end)
	s.join(m.start)
}

// join merges two mappings that meet at an address and are contiguous in the module: generated code comes in many small
// pieces.
func (s *space) join(at uint64) {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].start >= at })
	if i == 0 || i == len(s.maps) || s.maps[i].start != at {
		return
	}
	a, b := &s.maps[i-1], &s.maps[i]
	if a.end != b.start || a.module != b.module || a.offset+(a.end-a.start) != b.offset {
		return
	}
	a.end = b.end
	s.maps = slices.Delete(s.maps, i, i+1)
}

// module returns the module of a mapping. Equal ones are the same pointer, until there are too many.
func (t *Tables) module(p *process, r *Record) *format.Module {
	if len(t.modules) >= maxModules {
		clear(t.modules)
		clear(t.kept)
	}
	kind, path := classify(r)
	m := &format.Module{Kind: uint32(kind), Path: path}
	switch kind {
	case format.ModuleKind_MODULE_FILE:
		m.BuildId = r.BuildID
		if len(m.BuildId) > 0 {
			break
		}
		generation, state := r.Generation, fileState{}
		if kept, ok := t.kept[fileKey{r.Device, r.Inode, r.Generation}]; ok {
			m.BuildId, generation, state = kept.build, kept.generation, kept.state
		}
		if len(m.BuildId) == 0 && r.Inode != 0 {
			m.Device, m.Inode, m.Generation = r.Device, r.Inode, generation
			m.Size, m.Mtime, m.Ctime = state.size, state.mtime, state.ctime
		}
	case format.ModuleKind_MODULE_ANON:
		if p.jit != nil && string(m.Path) != ProbedCode {
			return p.jit
		}
	}
	return t.intern(m)
}

// intern returns the first module with the same key. Path and build-id of m may belong to a record.
func (t *Tables) intern(m *format.Module) *format.Module {
	key := m.Key()
	if known := t.modules[key]; known != nil {
		return known
	}
	m.Path, m.BuildId = bytes.Clone(m.Path), bytes.Clone(m.BuildId)
	t.modules[key] = m
	return m
}

// ProbedCode is the mapping in which the kernel executes copies of instructions with uprobes; no program has generated it.
const ProbedCode = "[uprobes]"

// classify returns the kind of a mapping's module by its path; see perf_event_mmap_event in kernel/events/core.c and
// show_map_vma in fs/proc/task_mmu.c.
func classify(r *Record) (format.ModuleKind, []byte) {
	path := bytes.TrimSuffix(r.Path, []byte(" (deleted)"))
	switch {
	case string(path) == "[vdso]":
		return format.ModuleKind_MODULE_VDSO, path
	case string(path) == ProbedCode:
		return format.ModuleKind_MODULE_ANON, path
	case len(path) == 0, path[0] == '[', bytes.HasPrefix(path, []byte("//anon")), bytes.HasPrefix(path, []byte("anon_inode:")),
		bytes.HasPrefix(path, []byte("/dev/zero")), bytes.HasPrefix(path, []byte("/SYSV")), isCodeMemory(path):
		return format.ModuleKind_MODULE_ANON, []byte("//anon")
	}
	return format.ModuleKind_MODULE_FILE, path
}

// isCodeMemory reports whether a mapping is memory that a runtime has mapped twice, to write code in one place and run it in the other:
// .NET's, and that of asmjit, as in Erlang's. Other memfds may hold programs.
func isCodeMemory(path []byte) bool {
	return string(path) == "/memfd:doublemapper" || string(path) == "/memfd:vmem"
}

// jit makes the map file of a process the module of its generated code, also of existing mappings. The record may be that
// of an earlier program of the process.
func (t *Tables) jit(p *process, r *Record) {
	if p.jit != nil || r.Time < p.began {
		return
	}
	p.jit = t.intern(mapModule(r.PID, r.Time))
	t.own(p)
	for i := range p.maps.maps {
		if m := &p.maps.maps[i]; format.ModuleKind(m.module.Kind) == format.ModuleKind_MODULE_ANON {
			m.module = p.jit
		}
	}
	t.changed(p)
}

// mapModule is the module of the generated code that a process's map file names; since is when its program first mapped some.
func mapModule(pid uint32, since int64) *format.Module {
	return &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte(perfMapPath(pid)), Generation: uint64(since)}
}

// perfMapPath returns the path of a process's map file in a stream, by the process id that the recorder sees.
func perfMapPath(pid uint32) string { return fmt.Sprintf("/tmp/perf-%d.map", pid) }

// Resolve returns the module at an address of a process, and the offset in it: see format.Frame on offsets. The module belongs
// to the tables and does not change; equal ones are one pointer.
func (t *Tables) Resolve(pid uint32, address uint64) (*format.Module, uint64) {
	p := t.processes[pid]
	if p == nil {
		return nil, 0
	}
	p.used = t.clock
	i := p.maps.find(address)
	if p.codes != nil && (i < 0 || format.ModuleKind(p.maps.maps[i].module.Kind) != format.ModuleKind_MODULE_FILE) {
		if c := p.codes.find(address); c != nil {
			return c.module, c.offset + (address - c.start)
		}
	}
	if i < 0 {
		return nil, 0
	}
	m := &p.maps.maps[i]
	return m.module, m.offset + (address - m.start)
}

// Files returns the paths of the files whose code a process has mapped, in the order of their addresses, up to a number of them.
func (t *Tables) Files(pid uint32, limit int) (paths []string) {
	p := t.processes[pid]
	if p == nil {
		return nil
	}
	var last *format.Module
	for i := range p.maps.maps {
		m := p.maps.maps[i].module
		if m == last || format.ModuleKind(m.Kind) != format.ModuleKind_MODULE_FILE {
			continue
		}
		if last = m; len(paths) < limit {
			paths = append(paths, string(m.Path))
		}
	}
	return paths
}

// Version changes whenever Resolve may return something else for a process.
func (t *Tables) Version(pid uint32) uint64 {
	p := t.processes[pid]
	switch {
	case p == nil:
		return 0
	case p.codes != nil:
		return max(p.version, p.codes.latest)
	}
	return p.version
}

// DropEnded drops processes that ended a while ago. It visits all of them: call it every few seconds of the recording.
// Records have the end of first threads only: isLive reports whether a process has another thread.
func (t *Tables) DropEnded(isLive func(pid uint32) bool) {
	for pid, p := range t.processes {
		if p.exited != 0 && max(p.exited, p.used) < t.clock-grace && !isLive(pid) {
			t.release(p)
			delete(t.processes, pid)
		}
	}
}

// makeRoom drops every process whose first thread has ended, and if there is none, all.
func (t *Tables) makeRoom() {
	for pid, p := range t.processes {
		if p.exited != 0 {
			t.release(p)
			delete(t.processes, pid)
		}
	}
	if len(t.processes) >= maxProcesses {
		clear(t.processes)
		t.mappings, t.codePages = 0, 0
	}
}
