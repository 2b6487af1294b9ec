package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/sideband"
	"wprof/internal/symbol"
	"wprof/internal/unwind"
)

const (
	// After a miss the thread that opens files sleeps for missedPause, so that it reads several misses at once. Without one it sleeps
	// until the next miss, and for missedWait at most: in an NMI, bpf_ringbuf_reserve gives up if its lock is taken, and no wakeup comes.
	missedPause = 5 * time.Millisecond
	missedWait  = time.Second
	// The opening of the window is delayed for this long at most: for the tables of requested processes, of which a program of 100 MB
	// takes 150 ms, or only for those that earlier recordings have kept, 1 ms each.
	requestedLimit = 250 * time.Millisecond
	preloadLimit   = 50 * time.Millisecond
	// preloadBytes is how much kernel memory these tables may take.
	preloadBytes = 64 << 20
	// indexInterval is how often the index of the cache is written while tables are being made.
	indexInterval = 100 * time.Millisecond
	// blockedPasses is how often the stacks of blocked threads are walked for the tables that they need. The first table that is
	// missing hides the others, so each pass waits until some of them are made.
	blockedPasses = 8
	// firstRetry is when a table for which there was no room is tried again: tables that were in use may have been unused for a
	// generation of the spool. Each further time takes twice as long.
	firstRetry = 2 * time.Second
)

// refusal is a file for whose table there was no room.
type refusal struct {
	next time.Time // when it is tried again; zero: it is being tried
	wait time.Duration
}

// unwinder makes the tables by which the kernel programs unwind user stacks, while the window is open. One goroutine opens the files
// that they miss, at once because a process may end soon, and two make the tables, of which one leaves the large files to the other. Nothing
// waits for these: a file may be on a file system that does not respond.
type unwinder struct {
	tracer   *bpf.Tracer
	offCPU   bool          // stacks of blocked threads are taken
	pythons  *pythonFinder // nil: frames of interpreters are not taken
	tables   *bpf.UnwindTables
	cache    unwind.Cache
	queue    *unwindQueue
	held     atomic.Pointer[sideband.Files] // files of processes that may have ended
	bootID   string
	indexed  time.Time                            // when the index of the cache was written
	blocked  atomic.Int32                         // passes over blocked threads that may follow
	hiding   map[bpf.UnwindFile]bpf.MissedMapping // tables that the last one missed, which hide others
	isReady  chan struct{}                        // closed when the tables of the requested processes are made, and those that were kept are loaded
	limit    time.Time                            // of waiting for that
	stopped  atomic.Bool
	files    atomic.Int64 // that have tables
	without  atomic.Int64 // that have none
	problems atomic.Int64 // files that could not be read
	removed  atomic.Int64 // tables that made room for others
	noRoom   atomic.Int64 // files for whose tables there was no room

	mu      sync.Mutex
	known   map[bpf.UnwindFile]bool // that have a table or wait for it
	refused map[bpf.UnwindFile]refusal
	stored  []unwind.Stored // whose tables are in the cache, those made last first
	changed bool            // since the index was written

	counts bpf.UnwindCounts // when the window closed
	bytes  int              // of kernel memory
}

// startUnwinder makes the tables of a command and of the given processes first, and loads those that were kept. It returns nil without
// tables to make.
func startUnwinder(tracer *bpf.Tracer, cfg *Config) *unwinder {
	tables := tracer.UnwindTables()
	if tables == nil {
		return nil
	}
	u := &unwinder{tracer: tracer, tables: tables, queue: newUnwindQueue(), known: map[bpf.UnwindFile]bool{}, refused: map[bpf.UnwindFile]refusal{}, isReady: make(chan struct{})}
	u.offCPU = cfg.Stacks.OffCPU
	if k := &cfg.Kernel.Unwind; k.Python.On || k.Ruby.On {
		u.pythons = &pythonFinder{python: k.Python.On, ruby: k.Ruby.On, unknown: map[bpf.UnwindFile]unknownInterpreter{}}
	}
	u.walkBlocked()
	if cfg.UnwindCache != "" {
		u.cache, _ = unwind.OpenCache(cfg.UnwindCache) // without it all tables are made
	}
	u.limit = time.Now().Add(preloadLimit)
	if len(cfg.Command) > 0 || len(cfg.Kernel.Filter.PIDs) > 0 {
		u.limit = time.Now().Add(requestedLimit)
	}
	go u.run(cfg.Command, cfg.Kernel.Filter.PIDs)
	go u.make(false)
	go u.make(true)
	return u
}

// useFiles lets files be opened after their processes have ended.
func (u *unwinder) useFiles(files *sideband.Files) {
	if u != nil {
		u.held.Store(files)
	}
}

// walkBlocked lets the tables be made that the stacks of blocked threads need.
func (u *unwinder) walkBlocked() {
	if u != nil && u.offCPU {
		u.blocked.Store(blockedPasses)
	}
}

// await waits for the tables that the window should open with, but not for long.
func (u *unwinder) await() {
	if u == nil {
		return
	}
	select {
	case <-u.isReady:
	case <-time.After(time.Until(u.limit)):
	}
}

// abandon makes no more tables.
func (u *unwinder) abandon() {
	if u != nil {
		u.stopped.Store(true)
		u.queue.close()
	}
}

// readCounts reads the statistics of walks: 0 without --stats.
func (u *unwinder) readCounts() bpf.UnwindCounts {
	u.counts, _ = u.tracer.UnwindCounts() // statistics are no reason to fail
	if u.pythons != nil {
		u.pythons.counts, _ = u.tracer.PythonCounts()
		u.pythons.sum(u.tables)
	}
	return u.counts
}

// stop makes no more tables. It may wait for a pass over blocked threads.
func (u *unwinder) stop() {
	if u == nil {
		return
	}
	u.abandon()
	u.bytes = u.tables.Bytes()
}

// run opens files until the window closes. On a busy machine a process that runs for 50 ms would have ended before an ordinary thread runs.
func (u *unwinder) run(command []string, pids []int32) {
	runtime.LockOSThread() // never unlocked, so that the thread ends with its priority
	raiseNice(highestNice)
	u.addVDSO()
	u.loadIndex()
	u.addRequested(command, pids)
	u.preload()
	go func() {
		u.queue.await()
		close(u.isReady)
	}()
	u.await()
	for !u.stopped.Load() {
		u.retry()
		missed, err := u.missed()
		if err != nil {
			return
		}
		for id, m := range missed {
			u.add(mapFile(m), &id, m.Count)
		}
		isMaking := u.queue.isBusy() // read first: a table that is made in between is in the index or is waited for
		isPending := u.keepIndex()
		switch {
		case len(missed) > 0 || u.blocked.Load() > 0:
			sleep(missedPause, -1)
		case isMaking || isPending:
			sleep(indexInterval, u.tables.MissedFD())
		default:
			sleep(missedWait, u.tables.MissedFD())
		}
	}
}

// addRequested adds the files of a command and of processes.
func (u *unwinder) addRequested(command []string, pids []int32) {
	if len(command) > 0 {
		if path, err := lookUp(command[0]); err == nil {
			u.add(path, nil, 0)
		}
		pids = append(slices.Clip(pids), int32(os.Getppid())) // mostly a shell, which uses the same C library
	}
	for _, pid := range pids {
		for _, m := range executableMappings(pid, "/") {
			u.add(mapFile(m), nil, 0)
		}
	}
}

// missed returns the mappings of files whose tables stacks needed. Threads that are blocked throughout the window need theirs when it
// closes, so their stacks are walked early.
func (u *unwinder) missed() (map[bpf.UnwindFile]bpf.MissedMapping, error) {
	walk := u.blocked.Load() > 0 && !u.queue.isBehind(u.hiding)
	if walk {
		if err := u.tracer.ReadBlocked(io.Discard, math.MaxInt64); err != nil {
			return nil, err
		}
	}
	missed, err := u.tables.Missed()
	if walk {
		u.hiding = missed
		u.blocked.Add(-1)
	}
	if walk && len(missed) == 0 {
		u.blocked.Store(0)
	}
	return missed, err
}

// loadIndex reads which files' tables are in the cache.
func (u *unwinder) loadIndex() {
	if host, err := proc.ReadHost(); err == nil {
		u.bootID = host.BootID
	}
	u.stored = u.cache.Files(u.bootID)
}

// preload stores the tables of files that earlier recordings needed, small ones first: a large one takes 30 ms. Interpreters, which are not
// among them, are made meanwhile.
func (u *unwinder) preload() {
	if u.pythons != nil {
		u.pythons.preload(u)
	}
	for _, s := range u.cache.BySize(u.stored) {
		file := bpf.UnwindFile{Inode: s.Inode, Changed: s.Changed, Device: s.Device}
		if u.stopped.Load() || u.tables.Bytes() > preloadBytes {
			break
		}
		if s.Python && u.pythons != nil {
			continue
		}
		if table := u.cache.Load(s.Name); table != nil && u.isNew(file) {
			u.put(file, table, bpf.Interpreter{}, nil, false)
		}
		u.addMissed()
	}
}

// addMissed adds the files that stacks have missed while the kept tables are loaded, which takes seconds on a busy machine.
func (u *unwinder) addMissed() {
	missed, err := u.tables.Missed()
	if err != nil {
		return // run reads them again
	}
	for id, m := range missed {
		u.add(mapFile(m), &id, m.Count)
	}
}

// isNew reports whether a file has no table and does not wait for one, and takes it as known from now on.
func (u *unwinder) isNew(file bpf.UnwindFile) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.known[file]
	u.known[file] = true
	return !known
}

// refuse lets a file be added again after a while.
func (u *unwinder) refuse(file bpf.UnwindFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, again := u.refused[file]
	if !again {
		u.noRoom.Add(1)
		r.wait = firstRetry / 2
	}
	r.wait *= 2
	r.next = time.Now().Add(r.wait)
	u.refused[file] = r
}

// retry lets those of the refused files be added again whose time has come.
func (u *unwinder) retry() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for file, r := range u.refused {
		if !r.next.IsZero() && now.After(r.next) {
			delete(u.known, file)
			u.refused[file] = refusal{wait: r.wait}
		}
	}
}

// forget lets files be added again.
func (u *unwinder) forget(files ...bpf.UnwindFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, file := range files {
		delete(u.known, file)
	}
}

// keepIndex writes which files' tables are in the cache, at most once in indexInterval. It reports whether there is more to write.
func (u *unwinder) keepIndex() (isPending bool) {
	u.mu.Lock()
	stored, isDue := slices.Clone(u.stored), u.changed && time.Since(u.indexed) >= indexInterval
	u.changed = u.changed && !isDue
	isPending = u.changed
	u.mu.Unlock()
	if isDue {
		_ = u.cache.KeepFiles(u.bootID, stored) // without it the next recording makes them again
		u.indexed = time.Now()
	}
	return isPending
}

// loopMajor is that of loop devices: LOOP_MAJOR in include/uapi/linux/major.h. Images of file systems that were made at a fixed time may
// have other files with the same numbers, and take the place of others on the same device.
const loopMajor = 7

// keepStored adds a file to the index.
func (u *unwinder) keepStored(s unwind.Stored) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.Name != "" && s.Device>>20 != loopMajor && !slices.Contains(u.stored, s) {
		u.stored = slices.Insert(u.stored, 0, s)
		u.changed = true
	}
}

// addVDSO makes the table of the image that the kernel maps into all processes.
func (u *unwinder) addVDSO() {
	image, err := symbol.ReadVDSO()
	if err != nil {
		return
	}
	table, err := unwind.Build(bytes.NewReader(image), int64(len(image)))
	u.put(bpf.VDSO(), table, bpf.Interpreter{}, err, true)
}

func mapFile(m bpf.MissedMapping) string {
	return fmt.Sprintf("/proc/%d/map_files/%x-%x", m.PID, m.Start, m.End)
}

// add queues a file for its table, which a number of stacks needed. id is how the kernel programs identify it; nil: as stat(2) does.
func (u *unwinder) add(path string, id *bpf.UnwindFile, stacks uint32) {
	if id != nil && u.isWanted(*id, stacks) {
		return
	}
	f := u.open(path, id)
	if f == nil {
		return // the process has ended; another one that maps the file will miss the table, too
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = f.Close()
		return
	}
	if id == nil {
		inode := sideband.InodeOf(&st)
		id = &bpf.UnwindFile{Inode: inode.Number, Changed: inode.Changed, Device: inode.Device}
	}
	if !u.isNew(*id) {
		_ = f.Close()
	} else if !u.queue.add(&wantedFile{*id, f, st.Size, uint64(stacks)}) {
		u.forget(*id)
	}
}

// open opens a file by its path or, if its process has ended, as the side-band has done.
func (u *unwinder) open(path string, id *bpf.UnwindFile) *os.File {
	if f, err := os.Open(path); err == nil {
		return f
	}
	files := u.held.Load()
	if files == nil || id == nil {
		return nil
	}
	return files.Dup(sideband.Inode{Number: id.Inode, Changed: id.Changed, Device: id.Device})
}

// isWanted reports whether a file is known, and counts stacks that needed its table.
func (u *unwinder) isWanted(id bpf.UnwindFile, stacks uint32) bool {
	u.mu.Lock()
	known := u.known[id]
	u.mu.Unlock()
	if known {
		u.queue.count(id, uint64(stacks))
	}
	return known
}

// make makes the tables of large or of small files until the window closes. Small ones take milliseconds, so that they may go before
// all ordinary threads. Large ones take 0.03 to 0.2 s of a CPU, and several seconds on a busy machine without a higher priority.
func (u *unwinder) make(large bool) {
	runtime.LockOSThread()
	if large {
		raiseNice(shareNice)
	} else {
		raiseNice(highestNice)
	}
	for w := u.queue.take(large); w != nil; w = u.queue.take(large) {
		u.build(w)
		u.queue.done(w)
	}
}

func (u *unwinder) build(w *wantedFile) {
	defer w.file.Close()
	table, name, err := u.cache.Build(w.file, w.size)
	interpreter, unknown := readInterpreter(w.file)
	isKnown := interpreter != bpf.Interpreter{}
	u.keepStored(unwind.Stored{Device: w.id.Device, Inode: w.id.Inode, Changed: w.id.Changed, Python: isKnown || unknown != nil, Name: name})
	isNeeded := true
	switch interpreter, unknown = u.pythons.selected(interpreter, unknown); {
	case interpreter.HasLoop():
		u.pythons.files.Add(1)
	case unknown != nil:
		u.pythons.note(w, unknown)
		isNeeded = w.stacks > 0 // else the programs say when it is
	}
	u.put(w.id, table, interpreter, err, isNeeded)
}

// put stores a table for the programs, and the interpreter in its file, if any; err is why there is no table. isNeeded: stacks need it now.
func (u *unwinder) put(file bpf.UnwindFile, table *unwind.Table, in bpf.Interpreter, err error, isNeeded bool) {
	if u.stopped.Load() {
		return
	}
	var removed []bpf.UnwindFile
	var added error
	if err == nil || errors.Is(err, unwind.ErrNoFrames) {
		removed, added = u.tables.Add(file, table, in, isNeeded)
	} else {
		added = u.tables.AddUnreadable(file)
	}
	u.forget(removed...)
	u.removed.Add(int64(len(removed)))
	switch {
	case added != nil:
		u.refuse(file)
	case table != nil:
		u.files.Add(1)
	case errors.Is(err, unwind.ErrNoFrames):
		u.without.Add(1)
	default:
		u.problems.Add(1)
	}
}

// executableMappings returns the executable mappings of a process's files with a word in their paths.
func executableMappings(pid int32, word string) (all []bpf.MissedMapping) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, word) {
			continue
		}
		m := bpf.MissedMapping{PID: uint32(pid)}
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &m.Start, &m.End, &permissions); n == 3 && strings.Contains(permissions, "x") {
			all = append(all, m)
		}
	}
	return all
}

// describe returns the statistics of the tables, for --stats.
func (u *unwinder) describe() string {
	text := fmt.Sprintf("user stacks: %s; tables of %d files (%d have none, %d could not be read, %d made room for others, for %d there was no room), %s",
		u.counts, u.files.Load(), u.without.Load(), u.problems.Load(), u.removed.Load(), u.noRoom.Load(), bytesText(int64(u.bytes)))
	if u.pythons != nil {
		text += "\n" + u.pythons.describe()
	}
	return text
}
