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
	// OnThread is called on the thread that opens files, before it begins.
	OnThread func()
}

// Watcher takes the side-band records of all CPUs and holds the files of mappings. A thread of its own wakes as soon as
// the kernel tells of a new mapping.
type Watcher struct {
	events []*event
	files  *Files
	epoll  int
	stop   int // an eventfd
	done   chan struct{}

	mu      sync.Mutex
	pending []byte // records that were not drained yet
	jits    map[uint32]int64
}

// Open begins: from now on nothing is missed. The thread begins with [Watcher.Start].
func Open(cfg Config) (w *Watcher, err error) {
	if cfg.Pages == 0 {
		cfg.Pages = defaultPages
	}
	if cfg.Files == 0 {
		cfg.Files = defaultFiles
	}
	w = &Watcher{files: newFiles(min(cfg.Files, raiseFileLimit()-sparedFiles)), epoll: -1, stop: -1, jits: make(map[uint32]int64)}
	defer func() {
		if err != nil {
			_ = w.Close()
			w.files.Close()
		}
	}()
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
	if err := w.makeEpoll(); err != nil {
		return nil, err
	}
	w.done = make(chan struct{})
	go w.watch(cfg.OnThread)
	return w, nil
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

func (w *Watcher) makeEpoll() (err error) {
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("create an epoll: %w", err)
	}
	if w.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("create an eventfd: %w", err)
	}
	fds := []int{w.stop}
	for _, e := range w.events {
		fds = append(fds, e.fd)
	}
	for _, fd := range fds {
		if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return fmt.Errorf("watch the buffers of perf: %w", err)
		}
	}
	return nil
}

// Start tells of what is there already. It comes after Open, so that nothing falls between the two.
func (w *Watcher) Start() error { return w.scan() }

// watch is the thread: it sleeps until a buffer has something.
func (w *Watcher) watch(onThread func()) {
	defer close(w.done)
	runtime.LockOSThread() // never unlocked, so that its priority ends with it
	if onThread != nil {
		onThread()
	}
	var ready [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(w.epoll, ready[:], -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // Drain still reads everything, only later
		}
		for _, r := range ready[:n] {
			if int(r.Fd) == w.stop {
				return
			}
		}
		w.mu.Lock()
		w.read()
		w.mu.Unlock()
	}
}

// read takes what is in the buffers. The files of mappings are opened on the way.
func (w *Watcher) read() {
	var r Record
	for _, e := range w.events {
		e.read(func(typ uint32, misc uint16, b []byte) {
			if parse(typ, misc, b, e.cpu, &r) {
				w.take(&r)
			}
		})
	}
}

func (w *Watcher) take(r *Record) {
	switch r.Kind {
	case KindMap:
		w.mapping(r)
		return
	case KindExec:
		delete(w.jits, r.PID)
	case KindExit:
		if since, ok := w.jits[r.PID]; ok {
			w.mapFile(r.PID, since)
			delete(w.jits, r.PID)
		}
	}
	w.pending = Append(w.pending, r)
}

// mapping opens the file first and tells of it then.
func (w *Watcher) mapping(r *Record) {
	kind, _ := classify(r)
	if inFileKind(kind) {
		w.pending = w.files.keep(r, w.pending)
	}
	w.pending = Append(w.pending, r)
	if isGenerated(kind) {
		if _, known := w.jits[r.PID]; !known && len(w.jits) < maxPending {
			w.jits[r.PID] = r.Time
		}
		w.mapFile(r.PID, w.jits[r.PID])
	}
}

// mapFile looks for the map file of a process's generated code.
func (w *Watcher) mapFile(pid uint32, since int64) {
	if since == 0 || w.files.hasMap(pid) || !w.files.keepMap(pid) {
		return
	}
	r := Record{Kind: KindJIT, Time: since, PID: pid}
	w.pending = Append(w.pending, &r)
}

// Drain appends the records that the kernel has told so far and that were not drained yet. Their times are those of
// the clock, in the order of a CPU, not of all.
func (w *Watcher) Drain(b []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	b = append(b, w.pending...)
	w.pending = w.pending[:0]
	return b
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

// Stop ends the thread, and looks once more for map files. What is pending can still be drained.
func (w *Watcher) Stop() {
	if w.done == nil {
		return
	}
	one := [8]byte{1}
	_, _ = unix.Write(w.stop, one[:])
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, since := range w.jits {
		w.mapFile(pid, since)
	}
}

// Close ends the thread and gives everything back but the files.
func (w *Watcher) Close() error {
	w.Stop()
	var errs []error
	for _, e := range w.events {
		errs = append(errs, e.close())
	}
	for _, fd := range []int{w.epoll, w.stop} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	w.events, w.done, w.epoll, w.stop = nil, nil, -1, -1
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop watching mappings: %w", err)
	}
	return nil
}
