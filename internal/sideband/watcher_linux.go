package sideband

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

const (
	// defaultPages is the buffer of a CPU: a program that starts tells some ten mappings of 120 bytes each, so 512 KiB
	// hold what 400 programs tell before they are read.
	defaultPages = 128
	// defaultFiles is how many files are held open.
	defaultFiles = 8192
	// sparedFiles are left for everything else that this process opens.
	sparedFiles = 512
	// maxPending bounds processes with generated code that have no map file yet.
	maxPending = 4096
)

// Config says how a Watcher works; 0 stands for the default.
type Config struct {
	Pages int // of each CPU's buffer, a power of two
	Files int // that are held open at most
	// OnThread is called on each thread that opens files, before it begins.
	OnThread func()
}

// Watcher takes the side-band records of all CPUs and holds the files of mappings. Each CPU has a thread that wakes as
// soon as the kernel tells of a new mapping there. It is bound to that CPU, where it comes before the process itself,
// which cannot end before the file is open: no other CPU has to wake up first, which can take a virtual machine
// longer than a short program lives.
type Watcher struct {
	cfg   Config
	files *Files

	mu    sync.Mutex
	cpus  []*event         // replaced, never changed; threads of theirs run until Stop
	still bool             // no thread runs any more
	scans []byte           // records of what was there already, not drained yet
	jits  map[uint32]int64 // processes with generated code, and since when
}

// Open begins: from now on nothing is missed. [Watcher.Start] tells of what was there before.
func Open(cfg Config) (w *Watcher, err error) {
	if cfg.Pages == 0 {
		cfg.Pages = defaultPages
	}
	if cfg.Files == 0 {
		cfg.Files = defaultFiles
	}
	most := filesToHold(cfg.Files)
	opened := &Watcher{cfg: cfg, files: newFiles(most), jits: make(map[uint32]int64)}
	w = opened
	defer func() {
		if err != nil { // and w may be nil
			_ = opened.Close()
			opened.files.Close()
		}
	}()
	grown := growTable(most)
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		if cpu.Offline {
			continue
		}
		e, err := openEvent(int(cpu.Id), cfg.Pages)
		if errors.Is(err, unix.ENODEV) {
			continue // it has gone offline just now
		}
		if err != nil {
			return nil, explain(err)
		}
		go w.watch(e)
		w.cpus = append(w.cpus, e)
	}
	<-grown
	return w, nil
}

// growTable makes room in this process's table of open files at once. Else the kernel doubles the table when it is full,
// and for that it waits until every CPU has passed through a quiet state (expand_fdtable in fs/file.c): 10 to 30 ms, in
// which no file is opened.
func growTable(files int) (done <-chan struct{}) {
	grown := make(chan struct{})
	go func() {
		defer close(grown)
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC) // any file does
		if err != nil {
			return
		}
		defer unix.Close(fd)
		if far, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, files); err == nil {
			_ = unix.Close(far)
		}
	}()
	return grown
}

// filesToHold leaves room for everything else that this process opens: where the limit is small, half of what is left.
func filesToHold(want int) int {
	left := proc.FileLimit()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		left = max(0, left-len(open))
	}
	return min(want, left-min(sparedFiles, left/2+4))
}

// explain says why perf refuses the side-band.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("watch which code is mapped: perf_event_open is refused (%w): it needs CAP_PERFMON, and a container's "+
			"seccomp profile that allows it; --no-user-stacks does without", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("watch which code is mapped: this kernel has no perf events (CONFIG_PERF_EVENTS); --no-user-stacks does without")
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("watch which code is mapped: this kernel does not know build-ids in perf's records (%w): Linux 5.12 or later does", err)
	}
	return fmt.Errorf("watch which code is mapped: %w", err)
}

// Start tells of what is there already. It comes after Open, so that nothing falls between the two.
func (w *Watcher) Start() error { return w.scan(true) }

// watch is a CPU's thread: it sleeps until the buffer has something.
func (w *Watcher) watch(e *event) {
	defer close(e.done)
	runtime.LockOSThread() // never unlocked, so that what it is set to ends with it
	var cpu unix.CPUSet
	cpu.Set(e.cpu)
	_ = unix.SchedSetaffinity(0, &cpu) // elsewhere it works too, only later
	if w.cfg.OnThread != nil {
		w.cfg.OnThread()
	}
	for {
		fds := [2]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}, {Fd: int32(e.stop), Events: unix.POLLIN}}
		_, err := unix.Ppoll(fds[:], nil, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // Drain still reads everything, only later
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents&unix.POLLIN != 0 {
			e.mu.Lock()
			w.read(e)
			e.mu.Unlock()
		} else if fds[0].Revents != 0 {
			return // the CPU has gone offline
		}
	}
}

// read takes what is in a buffer. The files of mappings are opened on the way.
func (w *Watcher) read(e *event) {
	var r Record
	e.read(func(typ uint32, misc uint16, b []byte) {
		if parse(typ, misc, b, e.cpu, &r) {
			e.last = r.Time
			if r.Kind == KindLost {
				e.told.add(r.Time, r.Count)
			}
			e.pending = w.take(&r, e.pending)
		}
	})
}

// take appends a record, and before it what its file tells.
func (w *Watcher) take(r *Record, out []byte) []byte {
	switch r.Kind {
	case KindMap:
		return w.mapping(r, out)
	case KindExec:
		w.mu.Lock()
		delete(w.jits, r.PID)
		w.mu.Unlock()
	case KindExit:
		w.mu.Lock()
		since := w.jits[r.PID]
		delete(w.jits, r.PID)
		w.mu.Unlock()
		out = w.mapFile(r.PID, since, out)
	}
	return Append(out, r)
}

// mapping opens the file first and tells of it then.
func (w *Watcher) mapping(r *Record, out []byte) []byte {
	kind, _ := classify(r)
	if inFileKind(kind) {
		out = w.files.keep(r, out)
	}
	out = Append(out, r)
	if isGenerated(kind) {
		w.mu.Lock()
		since, known := w.jits[r.PID]
		if !known && len(w.jits) < maxPending {
			since = r.Time
			w.jits[r.PID] = since
		}
		w.mu.Unlock()
		out = w.mapFile(r.PID, since, out)
	}
	return out
}

// mapFile looks for the map file of a process's generated code.
func (w *Watcher) mapFile(pid uint32, since int64, out []byte) []byte {
	if since == 0 || w.files.hasMap(pid) || !w.files.keepMap(pid) {
		return out
	}
	return Append(out, &Record{Kind: KindJIT, Time: since, PID: pid})
}

// AddCPU begins to watch a CPU that has come online since [Open]. One that was watched before and has been offline is
// watched anew: the kernel takes perf events off a CPU that goes offline and never puts them back. What was mapped there
// meanwhile is read from /proc, as [Watcher.Start] does.
func (w *Watcher) AddCPU(cpu int) error {
	e, err := openEvent(cpu, w.cfg.Pages)
	if errors.Is(err, unix.ENODEV) {
		return nil // it has gone offline again
	}
	if err != nil {
		return explain(err)
	}
	old, added := w.replace(e)
	if !added {
		return e.close()
	}
	go w.watch(e)
	if old != nil {
		if err := w.retire(old); err != nil {
			return err
		}
	}
	return w.scan(false)
}

// replace puts an event in the place of the one of the same CPU. False: the watcher has stopped.
func (w *Watcher) replace(e *event) (old *event, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.still {
		return nil, false
	}
	cpus := make([]*event, 0, len(w.cpus)+1)
	for _, other := range w.cpus {
		if other.cpu == e.cpu {
			old = other
		} else {
			cpus = append(cpus, other)
		}
	}
	w.cpus = append(cpus, e)
	return old, true
}

// retire keeps what an event has told and was not drained yet, and gives it back.
func (w *Watcher) retire(e *event) error {
	e.stopThread()
	e.mu.Lock()
	defer e.mu.Unlock()
	w.read(e)
	untold, err := e.untold(math.MaxInt64)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scans = append(w.scans, e.pending...)
	if untold > 0 {
		w.scans = Append(w.scans, &Record{Kind: KindLost, Time: e.last, CPU: uint32(e.cpu), Count: untold})
	}
	return errors.Join(err, e.close())
}

func (w *Watcher) events() []*event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cpus
}

// Drain appends the records that the kernel has told so far and that were not drained yet. Their times are those of
// the clock, in the order of a CPU, not of all.
func (w *Watcher) Drain(b []byte) []byte {
	for _, e := range w.events() {
		b = w.drain(e, b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b = append(b, w.scans...)
	w.scans = nil
	return b
}

func (w *Watcher) drain(e *event, b []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return b
	}
	w.read(e)
	b = append(b, e.pending...)
	e.pending = e.pending[:0]
	return b
}

// Untold is a number of records that did not fit into a CPU's buffer and that no record tells, because none has come
// since.
type Untold struct {
	CPU   int
	Count uint64
	From  int64 // when the CPU has told something last, CLOCK_MONOTONIC ns
}

// Untold is to be asked when everything has been drained. What the kernel tells only after a time, the end of the window,
// nobody reads: it counts as untold.
func (w *Watcher) Untold(until int64) ([]Untold, error) {
	var all []Untold
	for _, e := range w.events() {
		count, err := e.untoldNow(until)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			all = append(all, Untold{e.cpu, count, min(e.last, until)})
		}
	}
	return all, nil
}

// OutputFD is the perf event of a CPU, to whose buffer other events can be redirected with PERF_EVENT_IOC_SET_OUTPUT:
// that is how throttling is told.
func (w *Watcher) OutputFD(cpu int) (fd int, ok bool) {
	for _, e := range w.events() {
		if e.cpu == cpu {
			return e.fd, true
		}
	}
	return 0, false
}

// Files are those that were opened. They outlive the Watcher.
func (w *Watcher) Files() *Files { return w.files }

// Stop ends the threads, and looks once more for map files. What is pending can still be drained.
func (w *Watcher) Stop() {
	w.mu.Lock()
	before := w.still
	w.still = true
	w.mu.Unlock()
	if before {
		return
	}
	for _, e := range w.events() {
		e.stopThread()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, since := range w.jits {
		w.scans = w.mapFile(pid, since, w.scans)
	}
}

// Close ends the threads and gives everything back but the files.
func (w *Watcher) Close() error {
	w.Stop()
	var errs []error
	for _, e := range w.events() {
		errs = append(errs, e.close())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cpus = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop watching mappings: %w", err)
	}
	return nil
}
