//go:build linux

package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/unwind"
)

// Dimensions of unwindtable.h.
const (
	unwindChunkWords = 1 << 18
	unwindChunkSlack = 1024
	unwindMaxChunks  = 4096
	unwindChunkBytes = (unwindChunkWords + unwindChunkSlack) * 4

	unwindMemory = 256 << 20
)

// UnwindFile identifies a file as the kernel programs do: struct unwind_file.
type UnwindFile struct {
	Inode, Changed uint64 // ctime, ns
	Device         uint32 // the kernel's dev_t
	_              uint32
}

// VDSO returns the file that stands for the image that the kernel maps into every process.
func VDSO() UnwindFile { return UnwindFile{Device: math.MaxUint32} }

// unwindTable mirrors struct unwind_table.
type unwindTable struct {
	First, Pages, PagesAt, RowsAt, RulesAt, Used, Unreadable uint32
	Python, PythonTasks                                      uint16
}

// MissedMapping is a mapping of a file that has no table: struct missed_mapping.
type MissedMapping struct {
	Start, End uint64
	PID, Count uint32 // Count: number of stacks that needed the table
}

// UnwindTables is the memory of the kernel programs for tables, see unwindtable.h. Its methods may be called by any goroutine, also
// after [Tracer.Close]: then they do nothing.
type UnwindTables struct {
	mu                   sync.Mutex // held while programs run that RCU does not wait for
	closed               bool
	files, missed, outer *ebpf.Map
	inner                *ebpf.MapSpec
	chunks               [][]uint32 // memory of the maps in outer
	room                 room
	ranges               map[UnwindFile]wordRange
	idle                 map[UnwindFile]uint32 // what Used began with in tables that no stack needed yet
	maxChunks            int
	generation, version  *ebpf.Variable // version: changes with each table
	changes              uint32
	wakeups              *Wakeups
	pythons              *ebpf.Map // nil: frames of interpreters are not taken
	interpreters         []pythonFile
}

func (t *Tracer) newUnwindTables(spec *ebpf.CollectionSpec) (*UnwindTables, error) {
	maps, variables := t.collection.Maps, t.collection.Variables
	wakeups, err := mapWakeups(maps["unwind_wakeups"])
	if err != nil {
		return nil, err
	}
	var pythons *ebpf.Map
	if t.options.interprets() {
		pythons = maps["pythons"]
	}
	return &UnwindTables{pythons: pythons, files: maps["unwind_files"], missed: maps["unwind_missed"], outer: maps["unwind_chunks"], inner: spec.Maps["unwind_chunks"].InnerMap,
		ranges: map[UnwindFile]wordRange{}, idle: map[UnwindFile]uint32{}, maxChunks: min(unwindMaxChunks, cmp.Or(t.options.Unwind.Memory, unwindMemory)/unwindChunkBytes),
		generation: variables["generation"], version: variables["unwind_version"], wakeups: wakeups}, nil
}

// MissedFD is ready for poll(2) once the programs have missed the table of another file, until [UnwindTables.Missed]. It is -1 after
// [Tracer.Close].
func (u *UnwindTables) MissedFD() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return -1
	}
	return u.wakeups.FD()
}

// Bytes returns how much kernel memory the tables take.
func (u *UnwindTables) Bytes() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.chunks) * unwindChunkBytes
}

// Missed returns the mappings of files whose tables the programs missed since the last call.
func (u *UnwindTables) Missed() (map[UnwindFile]MissedMapping, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[UnwindFile]MissedMapping{}
	if u.closed {
		return all, nil
	}
	u.wakeups.Take()
	var file UnwindFile
	var mapping MissedMapping
	for entries := u.missed.Iterate(); entries.Next(&file, &mapping); {
		all[file] = mapping
	}
	for file := range all {
		if err := u.missed.Delete(file); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil, fmt.Errorf("remove a missed unwind table: %w", err)
		}
	}
	return all, nil
}

// ErrUnwindFull: there is no room for another table.
var ErrUnwindFull = errors.New("the memory for unwind tables is full")

// Add stores the table of a file for the programs; nil: the file has none. It returns the files whose tables it has removed to make
// room: those that were used least recently, and not in the current generation. in is the interpreter in the file, if any. isNeeded: the
// table counts as used in this generation.
func (u *UnwindTables) Add(file UnwindFile, t *unwind.Table, in Interpreter, isNeeded bool) (removed []UnwindFile, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil, nil
	}
	entry := unwindTable{}
	if entry.Used, err = u.readGeneration(); err != nil {
		return nil, err
	}
	if !isNeeded {
		entry.Used--
		u.idle[file] = entry.Used
	}
	number, err := u.addInterpreter(in)
	if err != nil {
		return nil, err
	}
	if in.HasLoop() {
		entry.Python = number
	}
	if in.Python != nil && in.Python.Tasks != nil {
		entry.PythonTasks = number
	}
	if t != nil && len(t.Pages) > 0 {
		ruleWords := ruleWords(t.Rules)
		var at wordRange
		at, removed, err = u.alloc(uint32(t.Words()))
		if err != nil {
			return removed, err
		}
		entry.First, entry.Pages, entry.RulesAt = t.First, uint32(len(t.Pages)-1), at.at
		entry.PagesAt = entry.RulesAt + uint32(len(ruleWords))
		entry.RowsAt = entry.PagesAt + uint32(len(t.Pages))
		u.write(entry.RulesAt, ruleWords)
		u.write(entry.PagesAt, t.Pages)
		u.write(entry.RowsAt, t.Rows)
		u.ranges[file] = at
	}
	return removed, u.put(file, entry)
}

// IsUsed reports whether a stack has needed the table of a file since it was added.
func (u *UnwindTables) IsUsed(file UnwindFile) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	var table unwindTable
	if u.closed || u.files.Lookup(file, &table) != nil {
		return false
	}
	began, isIdle := u.idle[file]
	return !isIdle || table.Used != began
}

// AddUnreadable stores that the table of a file could not be made, so that the programs do not miss it again. They walk the file's code by
// frame pointer, as that of a file without a table, and take no frame pointer there for the root's.
func (u *UnwindTables) AddUnreadable(file UnwindFile) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil
	}
	return u.put(file, unwindTable{Unreadable: 1})
}

func (u *UnwindTables) put(file UnwindFile, entry unwindTable) error {
	if err := u.files.Put(file, entry); err != nil {
		return fmt.Errorf("store an unwind table for the kernel programs: %w", err)
	}
	return u.setVersion()
}

func (u *UnwindTables) readGeneration() (n uint32, err error) {
	if err := u.generation.Get(&n); err != nil {
		return 0, fmt.Errorf("read the generation: %w", err)
	}
	return n, nil
}

func (u *UnwindTables) setVersion() error {
	u.changes++
	if err := u.version.Set(u.changes); err != nil {
		return fmt.Errorf("set the version of the unwind tables: %w", err)
	}
	return nil
}

// alloc makes room for a number of words, by removing tables if it has to.
func (u *UnwindTables) alloc(words uint32) (at wordRange, removed []UnwindFile, err error) {
	limit := uint32(u.maxChunks * unwindChunkWords)
	at, ok := u.room.alloc(words, limit)
	if !ok {
		if removed, err = u.remove(words); err != nil {
			return at, removed, err
		}
		if at, ok = u.room.alloc(words, limit); !ok {
			return at, removed, ErrUnwindFull
		}
	}
	return at, removed, u.grow(at.end)
}

// remove removes the tables that were used least recently until at least a number of words are free, if enough can be removed.
func (u *UnwindTables) remove(words uint32) (removed []UnwindFile, err error) {
	generation, err := u.readGeneration()
	if err != nil {
		return nil, err
	}
	var free uint32
	var file UnwindFile
	var table unwindTable
	ages := map[UnwindFile]uint32{} // generations since it was used
	for entries := u.files.Iterate(); entries.Next(&file, &table); {
		if r, ok := u.ranges[file]; ok && table.Used != generation {
			ages[file] = generation - table.Used
			free += r.end - r.at
		}
	}
	if free < words {
		return nil, ErrUnwindFull
	}
	free = 0
	oldest := func(a, b UnwindFile) int { return cmp.Compare(ages[b], ages[a]) }
	for _, file := range slices.SortedFunc(maps.Keys(ages), oldest) {
		if free >= 2*words { // free ranges may be apart
			break
		}
		if err := u.files.Delete(file); err != nil {
			return removed, fmt.Errorf("remove an unwind table: %w", err)
		}
		free += u.ranges[file].end - u.ranges[file].at
		removed = append(removed, file)
	}
	if err := u.setVersion(); err != nil {
		return removed, err
	}
	awaitPrograms()
	for _, file := range removed {
		u.room.release(u.ranges[file])
		delete(u.ranges, file)
	}
	return removed, nil
}

func ruleWords(rules []unwind.Rule) []uint32 {
	words := make([]uint32, 0, len(rules)*unwind.RuleWords)
	for _, r := range rules {
		words = append(words, uint32(r.Offset), uint32(uint16(r.FPOffset))|uint32(uint16(r.Add))<<16, uint32(r.Base)|uint32(r.Saved)<<8|uint32(uint16(r.BX))<<16, 0)
	}
	return words
}

// grow allocates chunks up to a word.
func (u *UnwindTables) grow(end uint32) error {
	for uint32(len(u.chunks))*unwindChunkWords < end {
		if len(u.chunks) >= u.maxChunks {
			return ErrUnwindFull
		}
		words, err := u.newChunk(uint32(len(u.chunks)))
		if err != nil {
			return fmt.Errorf("allocate memory for unwind tables: %w", err)
		}
		u.chunks = append(u.chunks, words)
	}
	return nil
}

// newChunk returns the memory of a new map in outer, which keeps it.
func (u *UnwindTables) newChunk(index uint32) (words []uint32, err error) {
	m, err := ebpf.NewMap(u.inner)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	memory, err := unix.Mmap(m.FD(), 0, unwindChunkBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map it: %w", err)
	}
	if err := u.outer.Put(index, m); err != nil {
		return nil, errors.Join(err, unix.Munmap(memory))
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), unwindChunkBytes/4), nil
}

// write writes words, those at the beginning of a chunk also after the end of the one before.
func (u *UnwindTables) write(at uint32, words []uint32) {
	for len(words) > 0 {
		chunk, offset := at/unwindChunkWords, at%unwindChunkWords
		n := copy(u.chunks[chunk][offset:unwindChunkWords], words)
		if chunk > 0 && offset < unwindChunkSlack {
			copy(u.chunks[chunk-1][unwindChunkWords+offset:], words[:n])
		}
		at, words = at+uint32(n), words[n:]
	}
}

func (u *UnwindTables) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	errs := []error{u.wakeups.close()}
	for _, c := range u.chunks {
		errs = append(errs, unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&c[0])), len(c)*4)))
	}
	return errors.Join(errs...)
}

// UnwindCounts are statistics of walks of user stacks by tables: unwind_counts in unwind.h.
type UnwindCounts struct {
	ByRule, ByPointer uint64                   // frames
	Mappings          uint64                   // that were looked up
	Ends              [format.StackEnds]uint64 // stacks, by [format.StackEnd]
}

// UnwindCounts returns the counts since the programs were loaded.
func (t *Tracer) UnwindCounts() (c UnwindCounts, err error) {
	if err := t.collection.Variables["unwind_counts"].Get(&c); err != nil {
		return c, fmt.Errorf("read the unwind statistics: %w", err)
	}
	return c, nil
}

func (c UnwindCounts) String() string {
	all := uint64(0)
	for _, n := range c.Ends {
		all += n
	}
	return fmt.Sprintf("%d walked, of which %d reached their root, %d were too deep, %d ended outside executable mappings, %d without a frame, %d where memory was not there, %d in a file whose table was not loaded; "+
		"%d frames by tables, %d by frame pointer; %d mappings looked up", all, c.Ends[format.StackEnd_STACK_END_ROOT], c.Ends[format.StackEnd_STACK_END_DEPTH], c.Ends[format.StackEnd_STACK_END_NO_CODE],
		c.Ends[format.StackEnd_STACK_END_NO_FRAME], c.Ends[format.StackEnd_STACK_END_UNREADABLE], c.Ends[format.StackEnd_STACK_END_NO_TABLE], c.ByRule, c.ByPointer, c.Mappings)
}
