package sideband

import (
	"errors"
	"fmt"
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
	events []*event
	files  *Files
	stop   int // an eventfd
	ended  sync.WaitGroup

	mu    sync.Mutex
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
	most := min(cfg.Files, raiseFileLimit()-sparedFiles)
	w = &Watcher{files: newFiles(most), stop: -1, jits: make(map[uint32]int64)}
	defer func() {
		if err != nil {
			_ = w.Close()
			w.files.Close()
		}
	}()
	if w.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	grown := growTable(w.stop, most)
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
		w.events = append(w.events, e)
	}
	for _, e := range w.events {
		w.ended.Go(func() { w.watch(e, cfg.OnThread) })
	}
	<-grown
	return w, nil
}

// growTable makes room in this process's table of open files at once. Else the kernel doubles the table when it is full,
// and for that it waits until every CPU has passed through a quiet state (expand_fdtable in fs/file.c): 10 to 30 ms, in
// which no file is opened.
func growTable(fd, files int) (done <-chan struct{}) {
	grown := make(chan struct{})
	go func() {
		defer close(grown)
		if far, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, files); err == nil {
			_ = unix.Close(far)
		}
	}()
	return grown
}

// raiseFileLimit lets this process open as many files as it may, and says how many that are.
func raiseFileLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	limit.Cur = limit.Max
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	return int(min(limit.Max, 1<<20))
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
func (w *Watcher) Start() error { return w.scan() }

// watch is a CPU's thread: it sleeps until the buffer has something.
func (w *Watcher) watch(e *event, onThread func()) {
	runtime.LockOSThread() // never unlocked, so that what it is set to ends with it
	var cpu unix.CPUSet
	cpu.Set(e.cpu)
	_ = unix.SchedSetaffinity(0, &cpu) // elsewhere it works too, only later
	if onThread != nil {
		onThread()
	}
	for {
		fds := [2]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}, {Fd: int32(w.stop), Events: unix.POLLIN}}
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
				e.told += r.Count
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

// Drain appends the records that the kernel has told so far and that were not drained yet. Their times are those of
// the clock, in the order of a CPU, not of all.
func (w *Watcher) Drain(b []byte) []byte {
	for _, e := range w.events {
		e.mu.Lock()
		w.read(e)
		b = append(b, e.pending...)
		e.pending = e.pending[:0]
		e.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b = append(b, w.scans...)
	w.scans = nil
	return b
}

// Untold is a number of records that did not fit into a CPU's buffer and that no record tells, because none has come
// since.
type Untold struct {
	CPU   int
	Count uint64
	From  int64 // when the CPU has told something last, CLOCK_MONOTONIC ns
}

// Untold is to be asked when everything has been drained.
func (w *Watcher) Untold() ([]Untold, error) {
	var all []Untold
	for _, e := range w.events {
		e.mu.Lock()
		count, err := e.untold()
		if err != nil {
			e.mu.Unlock()
			return nil, err
		}
		if count > 0 {
			all = append(all, Untold{e.cpu, count, e.last})
		}
		e.mu.Unlock()
	}
	return all, nil
}

// OutputFD is the perf event of a CPU, to whose buffer other events can be redirected with PERF_EVENT_IOC_SET_OUTPUT:
// that is how throttling is told.
func (w *Watcher) OutputFD(cpu int) (fd int, ok bool) {
	for _, e := range w.events {
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
	if w.stop < 0 {
		return
	}
	one := [8]byte{1}
	_, _ = unix.Write(w.stop, one[:])
	w.ended.Wait()
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
	for _, e := range w.events {
		errs = append(errs, e.close())
	}
	if w.stop >= 0 {
		errs = append(errs, unix.Close(w.stop))
	}
	w.events, w.stop = nil, -1
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop watching mappings: %w", err)
	}
	return nil
}
