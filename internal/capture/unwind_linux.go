package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/symbol"
	"wprof/internal/unwind"
)

const (
	// The files whose tables the kernel programs miss are read at the shorter interval while there are any, at the longer one when there
	// have been none for a while.
	unwindOften  = 5 * time.Millisecond
	unwindSeldom = 100 * time.Millisecond
	// unwindFirst is how long the window waits for the tables of the requested processes; a program of 100 MB takes 150 ms.
	unwindFirst = 250 * time.Millisecond
)

// unwinder makes the tables by which the kernel programs unwind user stacks, while the window is open. Files are read by a
// goroutine that nothing waits for: one may be on a file system that does not respond.
type unwinder struct {
	tables   *bpf.UnwindTables
	cache    unwind.Cache
	known    map[bpf.UnwindFile]bool
	boot     string
	stored   []unwind.Stored // whose tables are in the cache, those made last first
	changed  bool            // since the index of the cache was written
	first    chan struct{}   // closed when the tables of the requested processes are made
	stopped  atomic.Bool
	files    atomic.Int64 // that have tables
	without  atomic.Int64 // that have none
	problems atomic.Int64 // files that could not be read
	noRoom   atomic.Int64 // files for whose tables there was no room

	counts bpf.UnwindCounts // when the window closed
	bytes  int              // of kernel memory
}

// startUnwinder makes the tables of a command and of the given processes first, and waits for them for a short time. It returns nil
// without tables to make.
func startUnwinder(tables *bpf.UnwindTables, cfg *Config) *unwinder {
	if tables == nil {
		return nil
	}
	u := &unwinder{tables: tables, known: map[bpf.UnwindFile]bool{}, first: make(chan struct{})}
	if cfg.UnwindCache != "" {
		u.cache, _ = unwind.OpenCache(cfg.UnwindCache) // without it all tables are made
	}
	go u.run(cfg.Command, cfg.Kernel.Filter.PIDs)
	select {
	case <-u.first:
	case <-time.After(unwindFirst):
	}
	return u
}

// stop makes no more tables, and reads what they were used for. It waits for nothing.
func (u *unwinder) stop(tracer *bpf.Tracer) {
	if u == nil {
		return
	}
	u.stopped.Store(true)
	u.counts, _ = tracer.UnwindCounts() // only --stats needs them
	u.bytes = u.tables.Bytes()
}

func (u *unwinder) run(command []string, pids []int32) {
	u.vdso()
	u.preload()
	if len(command) > 0 {
		if path, err := lookUp(command[0]); err == nil {
			u.add(path, nil)
		}
		pids = append(slices.Clip(pids), int32(os.Getppid())) // mostly a shell, which uses the same C library
	}
	for _, pid := range pids {
		for _, m := range codeOf(pid) {
			u.add(mapFile(m), nil)
		}
	}
	close(u.first)
	for every := unwindOften; !u.stopped.Load(); time.Sleep(every) {
		missed, err := u.tables.Missed()
		if err != nil {
			return
		}
		often := func(a, b bpf.UnwindFile) int { return cmp.Compare(missed[b].Count, missed[a].Count) }
		for _, file := range slices.SortedFunc(maps.Keys(missed), often) {
			u.add(mapFile(missed[file]), &file)
		}
		if len(missed) == 0 {
			u.keepIndex()
		}
		every = min(2*every, unwindSeldom)
		if len(missed) > 0 {
			every = unwindOften
		}
	}
}

// preload gives the programs the tables of files that earlier recordings met.
func (u *unwinder) preload() {
	if host, err := proc.ReadHost(); err == nil {
		u.boot = host.BootID
	}
	u.stored = u.cache.Files(u.boot)
	for _, s := range u.stored {
		file := bpf.UnwindFile{Inode: s.Inode, Changed: s.Changed, Device: s.Device}
		if table := u.cache.Load(s.Name); table != nil && !u.stopped.Load() {
			u.known[file] = true
			u.put(file, table, nil)
		}
	}
}

// keepIndex writes which files' tables are in the cache, when no more are being made.
func (u *unwinder) keepIndex() {
	if u.changed {
		u.changed = false
		_ = u.cache.KeepFiles(u.boot, u.stored) // without it the next recording makes them again
	}
}

// vdso makes the table of the image that the kernel maps into all processes.
func (u *unwinder) vdso() {
	image, err := symbol.ReadVDSO()
	if err != nil {
		return
	}
	table, err := unwind.Build(bytes.NewReader(image), int64(len(image)))
	u.put(bpf.VDSO(), table, err)
}

func mapFile(m bpf.UnwindMapping) string {
	return fmt.Sprintf("/proc/%d/map_files/%x-%x", m.PID, m.Start, m.End)
}

// add makes the table of a file. file is how the kernel programs identify it; nil: as stat(2) does.
func (u *unwinder) add(path string, file *bpf.UnwindFile) {
	if u.stopped.Load() || file != nil && u.known[*file] {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return // the process has ended; another one that maps the file will miss the table, too
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	if file == nil {
		file = &bpf.UnwindFile{Inode: st.Ino, Changed: uint64(st.Ctim.Nano()), Device: unix.Major(st.Dev)<<20 | unix.Minor(st.Dev)}
	}
	if u.known[*file] {
		return
	}
	u.known[*file] = true
	table, name, err := u.cache.Build(f, st.Size)
	if name != "" {
		u.stored = slices.Insert(u.stored, 0, unwind.Stored{Device: file.Device, Inode: file.Inode, Changed: file.Changed, Name: name})
		u.changed = true
	}
	u.put(*file, table, err)
}

// put gives the programs a table, or that there is none.
func (u *unwinder) put(file bpf.UnwindFile, table *unwind.Table, err error) {
	if u.stopped.Load() {
		return
	}
	switch added := u.tables.Add(file, table); {
	case added != nil:
		u.noRoom.Add(1)
	case table != nil:
		u.files.Add(1)
	case errors.Is(err, unwind.ErrNoFrames):
		u.without.Add(1)
	default:
		u.problems.Add(1)
	}
}

// codeOf returns the executable mappings of files of a process.
func codeOf(pid int32) (all []bpf.UnwindMapping) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(text)) {
		m := bpf.UnwindMapping{PID: uint32(pid)}
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &m.Start, &m.End, &permissions); n == 3 && strings.Contains(permissions, "x") && strings.Contains(line, "/") {
			all = append(all, m)
		}
	}
	return all
}

// describe reports what the tables did, for --stats.
func (u *unwinder) describe() string {
	return fmt.Sprintf("user stacks: %s; tables of %d files (%d have none, %d could not be read, for %d there was no room), %s",
		u.counts, u.files.Load(), u.without.Load(), u.problems.Load(), u.noRoom.Load(), bytesText(int64(u.bytes)))
}
