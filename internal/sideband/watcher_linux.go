package sideband

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
)

const (
	// bufferBytes is the buffer of a CPU: a program that starts makes some ten records of 120 bytes, so 512 KiB hold those of
	// 400 programs. The memory is locked, so that all CPUs together have buffersBytes at most, but each minBufferBytes.
	bufferBytes    = 512 << 10
	buffersBytes   = 64 << 20
	minBufferBytes = 32 << 10
	// defaultFiles is how many files are held open.
	defaultFiles = 8192
	// sparedFiles are left for everything else that this process opens, where the limit is not small.
	sparedFiles = 512
	// passingFiles are open for a moment, while threads check files and processes.
	passingFiles = 16
	// maxPending bounds processes with generated code, maxIgnored those beyond that are counted.
	maxPending = 4096
	maxIgnored = 1 << 16
)

// Config configures a Watcher; 0 is the default.
type Config struct {
	Pages int // of each CPU's buffer, a power of two
	Files int // that are held open at most
	Spare int // files that the rest of this process has open at most
	// OnThread is called on each thread that opens files, before it begins.
	OnThread func()
	// OnPrograms is called with an event of each CPU. A program with a new file then writes to that event's buffer when it
	// starts, so that the file is opened before the program ends. Without it, files are opened when the CPU's buffer fills
	// and when it is drained.
	OnPrograms func(cpu, fd int) error
	// MayRecord returns false for a process that is not recorded as it is now: its map file is not read until it is. It is called
	// by one thread or, where a file system hangs, by several. nil: all processes are recorded.
	MayRecord func(pid uint32) bool
	// Only are the processes whose mappings matter; nil: those of all do. Else losses of other processes' records are not reported.
	Only []uint32
}

// Watcher collects the side-band records of all CPUs and holds the files of mappings open.
//
// Draining it never waits for a file system: only the threads of the CPUs and of the opener open files and look up paths. A
// CPU's thread wakes when its buffer is a quarter full, or at once when a new program starts there. It is bound to that
// CPU, where it runs before the program does, so that the program cannot end before its file is open: waking another CPU
// can take a virtual machine longer than a short program runs.
type Watcher struct {
	cfg    Config
	files  *Files
	opener *opener
	visits visitor
	maps   *mapFinder
	losses *losses // nil: they are reported as they are

	mu      sync.Mutex
	cpus    []*event             // replaced, never changed; their threads run until Stop
	stopped bool                 // Stop was called
	kept    []byte               // KindKept, KindJIT and KindCode records, not drained yet
	scans   []byte               // records of processes that existed already, not drained yet
	origins [2]map[uint32]origin // of the latest processes; the second is the older half
}

// origin is where a process comes from.
type origin struct {
	parent uint32 // 0: unknown
	began  int64  // when its program began, CLOCK_MONOTONIC ns; 0: unknown
}

// maxOrigins bounds each half of Watcher.origins.
const maxOrigins = 4096

// Open begins to record mappings. [Watcher.Start] reports those that exist already.
func Open(cfg Config) (w *Watcher, err error) {
	if cfg.Files == 0 {
		cfg.Files = defaultFiles
	}
	limit := filesToHold(cfg.Files, cfg.Spare)
	opened := &Watcher{cfg: cfg, files: newFiles(limit), losses: newLosses(cfg.Only)}
	opened.maps = newMapFinder(opened.files, opened.foundCode, cfg.MayRecord)
	opened.opener = newOpener(opened.open, opened.refuse, cfg.OnThread)
	w = opened
	defer func() {
		if err != nil { // and w may be nil
			_ = opened.Close()
			opened.files.Close()
		}
	}()
	grown := growTable(limit)
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return nil, err
	}
	cpus = slices.DeleteFunc(cpus, func(cpu *format.Cpu) bool { return cpu.Offline })
	if w.cfg.Pages == 0 {
		w.cfg.Pages = bufferPages(len(cpus), os.Getpagesize())
	}
	for _, cpu := range cpus {
		e, err := w.openEvent(int(cpu.Id))
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue
		}
		w.mu.Lock()
		w.cpus = append(w.cpus, e)
		w.mu.Unlock()
		go w.watch(e)
	}
	<-grown
	if w.losses != nil {
		go w.losses.run(w)
	}
	return w, nil
}

// bufferPages returns the size of each CPU's buffer, a power of two.
func bufferPages(cpus, pageSize int) int {
	pages := bufferBytes / pageSize
	for pages > 1 && pages*pageSize > max(minBufferBytes, buffersBytes/max(cpus, 1)) {
		pages /= 2
	}
	return max(pages, 1)
}

// growTable makes room in this process's table of open files at once. Else the kernel doubles the table when it is full,
// and for that it waits for a grace period of RCU (expand_fdtable in fs/file.c): 10 to 30 ms, in which no file is opened.
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

// filesToHold leaves room for everything else that this process opens.
func filesToHold(want, spare int) int {
	limit := proc.FileLimit()
	return max(0, min(want, limit-max(spare+passingFiles+maxKept, min(sparedFiles, limit/2))))
}

// explain turns an error of perf_event_open(2) into a sentence.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("watch which code is mapped: perf_event_open is refused (%w): it needs CAP_PERFMON, and a container's "+
			"seccomp profile that allows it; --no-user-stacks does without", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("watch which code is mapped: this kernel has no perf events (CONFIG_PERF_EVENTS); --no-user-stacks does without")
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("watch which code is mapped: this kernel has no build-ids in perf's records (%w): Linux 5.12 or later is needed", err)
	}
	return fmt.Errorf("watch which code is mapped: %w", err)
}

// openEvent returns nil if the CPU has just gone offline.
func (w *Watcher) openEvent(cpu int) (*event, error) {
	e, err := openEvent(cpu, w.cfg.Pages)
	if errors.Is(err, unix.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	if w.cfg.OnPrograms != nil {
		if err := w.cfg.OnPrograms(cpu, e.programs); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// openTime is how long the start and the end of a recording wait for files that do not open.
const openTime = time.Second

// Start reports what exists already, if commands is set with command lines. It is called after Open, so that nothing is missed between the
// two.
func (w *Watcher) Start(commands bool) error {
	err := w.scan(commands)
	w.WaitForFiles()
	return err
}

// WaitForFiles waits until the known files have been opened, for openTime at most.
func (w *Watcher) WaitForFiles() { w.opener.wait(time.Now().Add(openTime)) }

// After the start of a program, a CPU's thread reads the buffer after 1 ms, 2 ms, 4 ms and so on, for half a second: the
// program maps its libraries and generated code in that time.
const (
	firstPause = time.Millisecond
	lastPause  = 256 * time.Millisecond
	// othersPause is the pause from which the other CPUs' buffers are read too: the program may have migrated.
	othersPause = 16 * time.Millisecond
)

// watch is a CPU's thread.
func (w *Watcher) watch(e *event) {
	defer close(e.done)
	runtime.LockOSThread() // never unlocked, so that its settings end with it
	var cpu unix.CPUSet
	cpu.Set(e.cpu)
	_ = unix.SchedSetaffinity(0, &cpu) // on another CPU it works too, only later
	if w.cfg.OnThread != nil {
		w.cfg.OnThread()
	}
	pause := time.Duration(0) // 0: until it is woken
	for {
		woken, ok := e.sleep(pause)
		if !ok {
			return // Drain still reads everything, only later
		}
		if !woken && pause >= othersPause {
			for _, other := range w.events() {
				w.serve(other)
			}
		}
		program := w.serve(e)
		switch {
		case e.stopping.Load():
			return
		case program:
			pause = firstPause
		case !woken && pause < lastPause:
			pause *= 2
		case !woken:
			pause = 0
		}
	}
}

// sleep returns when the buffer is to be read, or, not woken, after a pause; 0: no limit. It is not ok when the thread is to
// end, or the CPU has gone offline.
func (e *event) sleep(pause time.Duration) (woken, ok bool) {
	fds := [2]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}, {Fd: int32(e.stop), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if pause > 0 {
		t := unix.NsecToTimespec(pause.Nanoseconds())
		timeout = &t
	}
	_, err := unix.Ppoll(fds[:], timeout, nil)
	if err != nil && !errors.Is(err, unix.EINTR) || fds[1].Revents != 0 || fds[0].Revents&^unix.POLLIN != 0 {
		return false, false
	}
	return fds[0].Revents != 0, true
}

// serve reads a CPU's buffer and opens the files of its records, through their mappings, which waits for no disk. A file without a
// build-id has to be read, and one whose process has ended to be found, which the opener does. It returns whether a program was
// reported.
func (w *Watcher) serve(e *event) (program bool) {
	requests, program := w.collect(e)
	rest := requests[:0]
	for _, one := range requests {
		w.files.opening(&one.Record)
		one.opened = openMapped(&one.Record)
		if one.opened != nil && len(one.BuildID) > 0 {
			w.open(&one)
		} else {
			rest = append(rest, one)
		}
	}
	w.opener.add(rest)
	return program
}

// collect reads a CPU's buffer, and takes the files to be opened.
func (w *Watcher) collect(e *event) (requests []request, program bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, false
	}
	w.read(e)
	requests, program = e.wanted, e.program
	e.wanted, e.program = nil, false
	return requests, program
}

// read takes the records of a buffer.
func (w *Watcher) read(e *event) {
	var r Record
	e.read(func(typ uint32, misc uint16, b []byte) {
		if typ == unix.PERF_RECORD_SAMPLE {
			e.program = true
			return
		}
		if !parse(typ, misc, b, e.cpu, &r) {
			return
		}
		e.last = r.Time
		if r.Kind == KindLost {
			e.reported.add(r.Time, r.Count)
			if w.losses.take(&r) {
				return
			}
		}
		e.pending, e.wanted = w.take(&r, e.pending, e.wanted)
	})
}

// take appends a record, and the file to be opened for it.
func (w *Watcher) take(r *Record, out []byte, wanted []request) ([]byte, []request) {
	switch r.Kind {
	case KindMap:
		wanted = w.mapping(r, wanted)
	case KindFork, KindExec:
		w.maps.programBegan(r.PID, w.noteOrigin(r))
	case KindExit:
		w.maps.exited(r.PID)
	}
	return Append(out, r), wanted
}

// mapping appends the file to be opened for a mapping, and reports generated code to the finder of map files.
func (w *Watcher) mapping(r *Record, wanted []request) []request {
	kind, _ := classify(r)
	switch kind {
	case format.ModuleKind_MODULE_FILE:
		if isDump(r) {
			w.maps.dumped(r, w.origin(r.PID))
		}
		if w.files.claim(r) {
			return w.request(fileRequest(r), wanted)
		}
	case format.ModuleKind_MODULE_ANON:
		w.maps.mapped(r, w.origin(r.PID))
	}
	return wanted
}

func (w *Watcher) request(one request, wanted []request) []request {
	if len(wanted) >= maxRequests {
		w.refuse(&one)
		return wanted
	}
	return append(wanted, one)
}

// open opens the file of a request. It may never return.
func (w *Watcher) open(one *request) {
	w.files.opening(&one.Record)
	if one.opened == nil {
		one.opened = open(&one.Record, w.origin(one.PID).parent)
	}
	found := w.files.opened(&one.Record, one.opened, nil)
	if len(found) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, found...)
}

// refuse drops a request.
func (w *Watcher) refuse(one *request) {
	if one.opened != nil {
		one.opened.Close()
	}
	w.files.unclaim(&one.Record)
}

// foundCode reports map files and functions of dumps.
func (w *Watcher) foundCode(records []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, records...)
}

// noteOrigin stores when a process's program began, and its parent, through which its files can be opened when it has ended.
func (w *Watcher) noteOrigin(r *Record) origin {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.originOf(r.PID)
	from.began = max(from.began, r.Time)
	if r.Kind == KindFork {
		from.parent = r.Parent
	}
	if w.origins[0] == nil || len(w.origins[0]) >= maxOrigins {
		w.origins[0], w.origins[1] = make(map[uint32]origin), w.origins[0]
	}
	w.origins[0][r.PID] = from
	return from
}

func (w *Watcher) origin(pid uint32) origin {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.originOf(pid)
}

func (w *Watcher) originOf(pid uint32) origin {
	if from, ok := w.origins[0][pid]; ok {
		return from
	}
	return w.origins[1][pid]
}

// AddCPU begins to watch a CPU that has come online since [Open]. One that was watched before and has been offline is
// watched anew: the kernel removes the perf events of a CPU that goes offline for good. What was mapped there meanwhile is
// read from /proc, as [Watcher.Start] does.
func (w *Watcher) AddCPU(cpu int) error {
	e, err := w.openEvent(cpu)
	if err != nil || e == nil { // it has gone offline again
		return err
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
	if w.stopped {
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

// retire keeps the records of an event that were not drained yet, and closes it.
func (w *Watcher) retire(e *event) error {
	e.stopThread(time.After(openTime))
	requests, _ := w.collect(e)
	w.opener.add(requests)
	unreported, err := e.unreported(math.MaxInt64)
	e.mu.Lock()
	w.mu.Lock()
	w.scans = append(w.scans, e.pending...)
	if unreported > 0 {
		w.scans = Append(w.scans, &Record{Kind: KindLost, Time: e.last, CPU: uint32(e.cpu), Count: unreported})
	}
	w.mu.Unlock()
	e.mu.Unlock()
	return errors.Join(err, e.close())
}

func (w *Watcher) events() []*event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cpus
}

// Report adds records that the Watcher did not make; Drain returns them.
func (w *Watcher) Report(records []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scans = append(w.scans, records...)
}

// Drain appends the records that were not drained yet, those of each CPU in order of time. It does not wait for files.
func (w *Watcher) Drain(b []byte) []byte {
	w.mu.Lock()
	b = append(b, w.kept...) // before the mappings of these files
	w.kept = w.kept[:0]
	b = append(b, w.scans...)
	w.scans = nil
	w.mu.Unlock()
	for _, e := range w.events() {
		b = w.drain(e, b)
	}
	return b
}

func (w *Watcher) drain(e *event, b []byte) []byte {
	requests, _ := w.collect(e)
	w.opener.add(requests)
	e.mu.Lock()
	defer e.mu.Unlock()
	b = append(b, e.pending...)
	e.pending = e.pending[:0]
	return b
}

// Unreported is the number of records that did not fit into a CPU's buffer and that no record has reported, because none came
// later.
type Unreported struct {
	CPU   int
	Count uint64
	From  int64 // time of the CPU's last record, CLOCK_MONOTONIC ns
}

// Unreported returns the losses without a record, once everything has been drained. What the kernel reports only after the end of
// the window, until, counts as unreported.
func (w *Watcher) Unreported(until int64) ([]Unreported, error) {
	var all []Unreported
	for _, e := range w.events() {
		count, err := e.unreported(until)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			all = append(all, Unreported{e.cpu, count, min(e.last, until)})
		}
	}
	if len(all) > 0 && w.losses != nil && w.canReadAll() {
		return nil, nil
	}
	return all, nil
}

// OutputFD is the perf event of a CPU, to whose buffer other events can be redirected with PERF_EVENT_IOC_SET_OUTPUT:
// that is how throttling is reported.
func (w *Watcher) OutputFD(cpu int) (fd int, ok bool) {
	for _, e := range w.events() {
		if e.cpu == cpu {
			return e.fd, true
		}
	}
	return 0, false
}

// Files returns the files that were opened. They outlive the Watcher.
func (w *Watcher) Files() *Files { return w.files }

// IgnoredPrograms returns how many processes with generated code were left out, because more than 4,096 had such code at once.
func (w *Watcher) IgnoredPrograms() int { return w.maps.ignoredPrograms() }

// FinishMaps copies the rest of the map files of generated code, for a time at most. Nothing is copied after it.
func (w *Watcher) FinishMaps(limit time.Duration) {
	for _, e := range w.events() { // generated code that was not reported yet
		requests, _ := w.collect(e)
		w.opener.add(requests)
	}
	w.settleLosses()
	w.maps.finish(time.Now().Add(limit))
}

// Stop ends the threads, and reads the map files once more. Records can still be drained.
func (w *Watcher) Stop() {
	w.mu.Lock()
	again := w.stopped
	w.stopped = true
	w.mu.Unlock()
	if again {
		return
	}
	for _, e := range w.events() {
		e.stopSoon()
	}
	deadline := time.After(openTime)
	for _, e := range w.events() {
		e.stopThread(deadline)
	}
	w.losses.end()
	w.FinishMaps(openTime)
	w.WaitForFiles()
	w.opener.close()
}

// Close ends the threads and releases everything except the files.
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
