//go:build linux

package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/unwind"
)

// Dimensions of unwind.h.
const (
	unwindChunkWords = 1 << 18
	unwindChunkSlack = 1024
	unwindRuleWords  = 4
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
type unwindTable struct{ First, Pages, PagesAt, RowsAt, RulesAt, Used uint32 }

// UnwindMapping is a mapping of a file that has no table: struct unwind_mapping.
type UnwindMapping struct {
	Start, End uint64
	PID, Count uint32 // Count: in how many stacks it was met
}

// UnwindTables is the memory of the kernel programs for tables, see unwind.h. Its methods may be called by any goroutine, also
// after [Tracer.Close]: then they do nothing.
type UnwindTables struct {
	mu                   sync.Mutex
	closed               bool
	files, missed, outer *ebpf.Map
	inner                *ebpf.MapSpec
	chunks               []unwindChunk
	next                 uint32 // first free word
	maxChunks            int
	version              *ebpf.Variable // changes with each table
	tables               uint32
}

type unwindChunk struct {
	m     *ebpf.Map
	words []uint32
}

func (t *Tracer) newUnwindTables(spec *ebpf.CollectionSpec) *UnwindTables {
	maps := t.collection.Maps
	return &UnwindTables{files: maps["unwind_files"], missed: maps["unwind_missed"], outer: maps["unwind_chunks"], inner: spec.Maps["unwind_chunks"].InnerMap,
		maxChunks: min(unwindMaxChunks, cmp.Or(t.options.Unwind.Memory, unwindMemory)/unwindChunkBytes), version: t.collection.Variables["unwind_version"]}
}

// Bytes returns how much kernel memory the tables take.
func (u *UnwindTables) Bytes() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.chunks) * unwindChunkBytes
}

// Missed returns the mappings of files whose tables the programs missed since the last call.
func (u *UnwindTables) Missed() (map[UnwindFile]UnwindMapping, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[UnwindFile]UnwindMapping{}
	if u.closed {
		return all, nil
	}
	var file UnwindFile
	var mapping UnwindMapping
	for entries := u.missed.Iterate(); entries.Next(&file, &mapping); {
		all[file] = mapping
	}
	for file := range all {
		if err := u.missed.Delete(file); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil, fmt.Errorf("remove a request for an unwind table: %w", err)
		}
	}
	return all, nil
}

// ErrUnwindFull: there is no room for another table.
var ErrUnwindFull = errors.New("the memory for unwind tables is full")

// Add gives the programs the table of a file; nil: the file has none.
func (u *UnwindTables) Add(file UnwindFile, t *unwind.Table) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil
	}
	entry := unwindTable{}
	if t != nil && len(t.Pages) > 0 {
		rules := (u.next + unwindRuleWords - 1) &^ (unwindRuleWords - 1)
		entry.First, entry.Pages = t.First, uint32(len(t.Pages)-1)
		entry.RulesAt = rules
		entry.PagesAt = rules + uint32(len(t.Rules)*unwindRuleWords)
		entry.RowsAt = entry.PagesAt + uint32(len(t.Pages))
		end := entry.RowsAt + uint32(len(t.Rows))
		if err := u.grow(end); err != nil {
			return err
		}
		u.write(rules, ruleWords(t.Rules))
		u.write(entry.PagesAt, t.Pages)
		u.write(entry.RowsAt, t.Rows)
		u.next = end
	}
	if err := u.files.Put(file, entry); err != nil {
		return fmt.Errorf("give the kernel programs an unwind table: %w", err)
	}
	u.tables++
	if err := u.version.Set(u.tables); err != nil {
		return fmt.Errorf("report a new unwind table to the kernel programs: %w", err)
	}
	return nil
}

func ruleWords(rules []unwind.Rule) []uint32 {
	words := make([]uint32, 0, len(rules)*unwindRuleWords)
	for _, r := range rules {
		words = append(words, uint32(r.Offset), uint32(uint16(r.FPOffset))|uint32(uint16(r.Add))<<16, uint32(r.Base)|uint32(r.Saved)<<8, 0)
	}
	return words
}

// grow makes the chunks up to a word.
func (u *UnwindTables) grow(end uint32) error {
	for uint32(len(u.chunks))*unwindChunkWords < end {
		if len(u.chunks) >= u.maxChunks {
			return ErrUnwindFull
		}
		m, err := ebpf.NewMap(u.inner)
		if err != nil {
			return fmt.Errorf("make room for unwind tables: %w", err)
		}
		memory, err := unix.Mmap(m.FD(), 0, unwindChunkBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return errors.Join(fmt.Errorf("map room for unwind tables: %w", err), m.Close())
		}
		if err := u.outer.Put(uint32(len(u.chunks)), m); err != nil {
			return errors.Join(fmt.Errorf("add room for unwind tables: %w", err), unix.Munmap(memory), m.Close())
		}
		u.chunks = append(u.chunks, unwindChunk{m, unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), unwindChunkBytes/4)})
	}
	return nil
}

// write writes words, those at the beginning of a chunk also behind the one before.
func (u *UnwindTables) write(at uint32, words []uint32) {
	for len(words) > 0 {
		chunk, offset := at/unwindChunkWords, at%unwindChunkWords
		n := copy(u.chunks[chunk].words[offset:unwindChunkWords], words)
		if chunk > 0 && offset < unwindChunkSlack {
			copy(u.chunks[chunk-1].words[unwindChunkWords+offset:], words[:n])
		}
		at, words = at+uint32(n), words[n:]
	}
}

func (u *UnwindTables) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	var errs []error
	for _, c := range u.chunks {
		errs = append(errs, unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&c.words[0])), len(c.words)*4)), c.m.Close())
	}
	return errors.Join(errs...)
}

// UnwindCounts are what walks of user stacks by tables met: unwind_counts in unwind.h.
type UnwindCounts struct {
	ByRule, ByPointer uint64 // frames
	Mappings          uint64 // that were looked up
	Ends              [5]uint64
}

// UnwindCounts returns the counts since the programs were loaded.
func (t *Tracer) UnwindCounts() (c UnwindCounts, err error) {
	if err := t.collection.Variables["unwind_counts"].Get(&c); err != nil {
		return c, fmt.Errorf("read what walks by unwind tables met: %w", err)
	}
	return c, nil
}

func (c UnwindCounts) String() string {
	all := uint64(0)
	for _, n := range c.Ends {
		all += n
	}
	return fmt.Sprintf("%d walked, of which %d reached their root, %d were too deep, %d ended in no code, %d without a frame, %d where memory was not there; "+
		"%d frames by tables, %d by frame pointer; %d mappings looked up", all, c.Ends[1], c.Ends[0], c.Ends[2], c.Ends[3], c.Ends[4], c.ByRule, c.ByPointer, c.Mappings)
}
