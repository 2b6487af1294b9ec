package pytrace

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

// Process is a process whose calls are traced. What is read of its memory may be anything: it is checked and bounded.
type Process struct {
	PID      int
	fd       int // of memory
	memory   []byte
	tails    [maxThreads]uint64
	lost     [maxThreads]uint64
	leftOut  [maxThreads]uint64
	ends     [maxThreads]int64 // of the last calls
	noPlace  uint64
	threadOf [maxThreads]ownThread
	tids     map[uint32]uint32 // by those of the process's PID namespace; nil: they are the same
	codes    []Code
	read     uint64     // bytes of definitions
	set      *settings  // of its calls; nil: there are none
	ticks    *tickClock // of its calls; nil: they have CLOCK_MONOTONIC
	failed   atomic.Bool
}

// ownThread is a thread that a place was found to be of.
type ownThread struct {
	inside, tid uint32 // tid 0: it is of another process
}

// Code is a function.
type Code struct {
	Name, File string
	Line       uint32
}

// Call is a call of a function.
type Call struct {
	TID        uint32
	CPU        uint16
	Start, End int64  // CLOCK_MONOTONIC ns; Start 0: it began before the tracing
	Self       int64  // without the calls that it made, ns
	Code       uint32 // index in the process's functions from 1 on; 0: not known
}

// Attach begins to trace a process, with calls not recorded yet. [Process.Started] says whether it has started.
func Attach(pid int, o Options) (*Process, error) {
	return attachTo(pid, wordCalls, newTracing(o), sharedBytes, func(*Process) error { return nil })
}

// AttachLater attaches to a process that has begun just now, when its interpreter has been initialised. ready gets the process before its first call is
// traced, and may refuse it. If attaching fails after that, [Process.HasFailed].
func AttachLater(pid int, o Options, ready func(*Process) error) error {
	_, err := attachTo(pid, wordNew, newTracing(o), sharedBytes, ready)
	return err
}

// Begin is a program that will be attached to when it begins.
type Begin struct {
	pid     int
	helper  *helper
	tracing tracing
}

// PrepareBegin prepares attaching to a program that a process is about to execute, when its interpreter has been initialised. Then the process
// may execute it, and [Begin.Attach] must be called.
func PrepareBegin(pid int, o Options) (*Begin, error) {
	tracing := newTracing(o)
	h, err := startHelper(pid, wordCommand+tracing.set.text())
	if err != nil {
		return nil, err
	}
	if _, _, err = h.next(); err != nil {
		h.end()
		return nil, err
	}
	return &Begin{pid, h, tracing}, nil
}

// Attach waits until the program is attached to, as [AttachLater], or until it is clear that it is none of Python.
func (b *Begin) Attach(ready func(*Process) error) error {
	defer b.helper.end()
	_, err := b.helper.finish(b.pid, b.tracing, sharedBytes, ready)
	return err
}

func attachTo(pid int, word string, how tracing, size int, ready func(*Process) error) (*Process, error) {
	h, err := startHelper(pid, word+how.set.text())
	if err != nil {
		return nil, err
	}
	defer h.end()
	return h.finish(pid, how, size, ready)
}

func newProcess(pid, fd, size int, how tracing) (p *Process, err error) {
	p = &Process{PID: pid, fd: fd, set: how.set, ticks: how.ticks}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if err := checkMemory(fd, int64(size)); err != nil {
		return nil, err
	}
	if p.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE); err != nil {
		return nil, fmt.Errorf("map its memory: %w", err)
	}
	p.readTIDs()
	return p, nil
}

// HasFailed reports whether the process was not attached to after all.
func (p *Process) HasFailed() bool { return p.failed.Load() }

func (p *Process) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&p.memory[at])) }
func (p *Process) int(at int) *uint32  { return (*uint32)(unsafe.Pointer(&p.memory[at])) }

// Beat shows the agent that the recorder lives.
func (p *Process) Beat() {
	now := uint64(proc.Monotonic())
	atomic.StoreUint64(p.word(controlHeartbeat), now)
	if p.set != nil {
		atomic.StoreUint64(p.word(controlBeat), p.set.ticksNow(now))
	}
}

var (
	errProfiler   = errors.New("a profiler is at work in it")
	errMonitoring = errors.New("its sys.monitoring has no tool free, or an audit hook refuses that it is used")
)

// Started waits until the agent has started.
func (p *Process) Started(deadline time.Time) error {
	for {
		p.Beat()
		state, refused := atomic.LoadUint32(p.int(controlState)), atomic.LoadUint32(p.int(controlRefused))
		switch {
		case state == stateActive:
			return nil
		case state == stateRetired && refused == refusedByProfiler:
			return errProfiler
		case state == stateRetired && refused == refusedByMonitoring:
			return errMonitoring
		case state == stateRetired || time.Now().After(deadline):
			return fmt.Errorf("its main thread has not run Python code for %v", StartWithin)
		}
		time.Sleep(time.Millisecond)
	}
}

// Open lets calls be recorded.
func (p *Process) Open() { atomic.StoreUint32(p.int(controlCommand), commandOpen) }

// Shut ends that.
func (p *Process) Shut() { atomic.StoreUint32(p.int(controlCommand), commandClosed) }

// IsRetired reports whether the agent has removed itself.
func (p *Process) IsRetired() bool { return atomic.LoadUint32(p.int(controlState)) == stateRetired }

// Retire has the agent remove itself at the next call.
func (p *Process) Retire() { atomic.StoreUint32(p.int(controlCommand), commandRetire) }

// Close retires the agent, and waits up to a deadline until it has removed itself.
func (p *Process) Close(deadline time.Time) {
	if p.memory == nil {
		return
	}
	p.Retire()
	for !p.IsRetired() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	p.unmap()
}

func (p *Process) unmap() {
	_ = unix.Munmap(p.memory)
	_ = unix.Close(p.fd)
	p.memory = nil
}

// Function returns what a call's Code is.
func (p *Process) Function(code uint32) *Code {
	if code == 0 || int(code) > len(p.codes) {
		return nil
	}
	return &p.codes[code-1]
}

// addPlaces doubles the places when half of them are taken: allocating takes some ms for each. If there is no memory for them, calls of more threads are lost, and counted.
func (p *Process) addPlaces(taken int) {
	places := int(min(atomic.LoadUint64(p.word(controlPlaces)), maxThreads))
	if more := min(2*places, maxThreads); 2*taken > places && more > places && allocatePlaces(p.fd, more) == nil {
		atomic.StoreUint64(p.word(controlPlaces), uint64(more))
	}
}

// Pumped is what [Process.Calls] has left.
type Pumped struct {
	Left, Lost uint64 // calls that wait, and that are missing since the last time
	LeftOut    uint64 // calls that were too short, since the last time
	Oldest     int64  // when the first of those that wait ended; math.MaxInt64: none waits
}

// Calls calls visit with calls that have ended since the last time and before a limit, of each thread in their order: a number of them at most, or some
// more.
func (p *Process) Calls(most int, limit int64, visit func(Call)) (out Pumped) {
	out.Oldest = math.MaxInt64
	n := p.threads()
	p.addPlaces(n)
	var heads [maxThreads]uint64
	for i := range n {
		heads[i] = atomic.LoadUint64(p.word(threadsAt + i*threadBytes + threadHead))
	}
	now := p.now() // later than all of these
	for i := range n {
		p.callsOf(i, heads[i], now, uint64(max(most/n, 1)), limit, &out, visit)
	}
	noPlace := atomic.LoadUint64(p.word(controlLost))
	out.Lost += min(noPlace-p.noPlace, maxLost)
	p.noPlace = noPlace
	return out
}

// maxLost bounds the calls that a process can say are lost, of each thread each time.
const maxLost = 1 << 24

func (p *Process) threads() int {
	return int(min(atomic.LoadUint32(p.int(controlThreads)), maxThreads))
}

// now reads the time, and how many ticks it is.
func (p *Process) now() int64 {
	if p.ticks != nil {
		p.ticks.add()
	}
	return proc.Monotonic()
}

func (p *Process) callsOf(i int, head uint64, now int64, most uint64, limit int64, out *Pumped, visit func(Call)) {
	at := threadsAt + i*threadBytes
	missing := atomic.LoadUint64(p.word(at + threadLost))
	out.Lost += min(missing-p.lost[i], maxLost)
	p.lost[i] = missing
	short := atomic.LoadUint64(p.word(at + threadLeftOut))
	out.LeftOut += min(short-p.leftOut[i], maxLost)
	p.leftOut[i] = short
	if head-p.tails[i] > maxRecords { // no agent writes that
		p.tails[i] = head
	}
	p.define()
	tid := p.thread(i)
	for n := uint64(0); p.tails[i] != head; n++ {
		c := p.call(at + threadRecords + int(p.tails[i]%maxRecords)*recordBytes)
		ok := tid != 0 && c.Start >= 0 && c.End >= p.ends[i] && c.Start <= c.End && c.End <= now && c.Self >= 0 && c.Self <= c.End-c.Start && c.Code <= maxKnown
		if ok && (n >= most || c.End > limit) {
			out.Left += head - p.tails[i]
			out.Oldest = min(out.Oldest, c.End)
			break
		}
		p.tails[i]++
		if !ok {
			out.Lost++
			continue
		}
		p.ends[i], c.TID = c.End, tid
		if p.isShort(&c) { // the agent's limit is not exact
			out.LeftOut++
			continue
		}
		visit(c)
	}
	atomic.StoreUint64(p.word(at+threadTail), p.tails[i])
}

// isShort reports whether a call is shorter than wanted. Of one that began before the tracing that is not known.
func (p *Process) isShort(c *Call) bool {
	return p.set != nil && c.Start != 0 && c.End-c.Start < int64(p.set.Min)
}

// call reads a record.
func (p *Process) call(r int) Call {
	c := Call{
		CPU: uint16(*p.int(r + recordCPU)), Start: int64(*p.word(r + recordStart)), End: int64(*p.word(r + recordEnd)),
		Self: int64(*p.word(r + recordSelf)), Code: *p.int(r + recordCode),
	}
	if p.ticks != nil {
		c.toNS(p.ticks)
	}
	return c
}

// toNS converts its times, if they are such as agents write.
func (c *Call) toNS(ticks *tickClock) {
	lasted := c.End - c.Start
	if c.Start < 0 || lasted < 0 || c.Self < 0 || c.Self > lasted {
		c.End = -1
		return
	}
	c.End = ticks.ns(c.End)
	if c.Start == 0 {
		return
	}
	c.Start = ticks.ns(c.Start)
	if c.Self == lasted {
		c.Self = c.End - c.Start
	} else {
		c.Self = int64(float64(c.Self) / float64(lasted) * float64(c.End-c.Start))
	}
}

// OpenCalls calls visit with the calls that have not ended, when the window has closed.
func (p *Process) OpenCalls(closed int64, visit func(Call)) {
	p.define()
	p.now()
	for i := range p.threads() {
		at := threadsAt + i*threadBytes
		tid, depth := p.thread(i), min(*p.int(at + threadDepth), maxDepth)
		if !p.has(tid) { // its calls have ended with it, at a time that is not known
			continue
		}
		for d := range int(depth) {
			call := at + threadCalls + d*callBytes
			start, code := int64(*p.word(call + callStart)), *p.int(call + callCode)
			if p.ticks != nil {
				start = p.ticks.ns(start)
			}
			if start > 0 && start <= closed && code <= maxKnown {
				visit(Call{TID: tid, Start: start, End: closed, Code: code})
			}
		}
	}
}

// has reports whether a thread of the process lives.
func (p *Process) has(tid uint32) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", p.PID, tid))
	return err == nil
}

// define reads the definitions that were added.
func (p *Process) define() {
	end := min(atomic.LoadUint64(p.word(controlDefinitions)), definitionBytes)
	for p.read+definitionCharacters <= end && len(p.codes) < maxKnown {
		d := p.memory[definitionsAt+p.read : definitionsAt+end]
		name, n := text(d[definitionName:], d[definitionCharacters:])
		file, k := text(d[definitionFile:], d[min(definitionCharacters+n, len(d)):])
		line := uint32(d[0]) | uint32(d[1])<<8 | uint32(d[2])<<16 | uint32(d[3])<<24
		p.codes = append(p.codes, Code{name, file, line})
		p.read += uint64(definitionCharacters+n+k+7) &^ 7
	}
}

// text decodes a struct text and its characters, which take n bytes.
func text(header, characters []byte) (s string, n int) {
	n, kind := int(header[0])|int(header[1])<<8, int(header[2])
	n = min(n, textBytes, len(characters))
	var b strings.Builder
	for i := 0; kind > 0 && kind <= 4 && i+kind <= n; i += kind {
		r := rune(0)
		for k := range kind {
			r |= rune(characters[i+k]) << (8 * k)
		}
		b.WriteRune(r)
	}
	return b.String(), n
}

// readTIDs reads which ids the threads have outside the process's PID namespace.
func (p *Process) readTIDs() {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if len(strings.Fields(statusField(status, "NSpid"))) < 2 {
		return
	}
	p.tids = make(map[uint32]uint32)
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.PID))
	for _, e := range tasks {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", p.PID, e.Name()))
		ids := strings.Fields(statusField(status, "NSpid"))
		if len(ids) < 2 {
			continue
		}
		outside, _ := strconv.Atoi(ids[0])
		inside, _ := strconv.Atoi(ids[len(ids)-1])
		p.tids[uint32(inside)] = uint32(outside)
	}
}

// thread returns the thread that has a place; 0: the process says that it is one of another process.
func (p *Process) thread(i int) uint32 {
	return p.ownThread(i, *p.int(threadsAt + i*threadBytes + threadTID))
}

// ownThread is thread for a place that says which one has it.
func (p *Process) ownThread(i int, inside uint32) uint32 {
	known := &p.threadOf[i]
	if known.inside == inside && inside != 0 {
		return known.tid
	}
	*known = ownThread{inside, p.tid(inside)}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", known.tid))
	if err == nil && statusField(status, "Tgid") != strconv.Itoa(p.PID) {
		known.tid = 0
	}
	return known.tid
}

func (p *Process) tid(inside uint32) uint32 {
	if p.tids == nil {
		return inside
	}
	tid, known := p.tids[inside]
	if !known && len(p.tids) < 1<<16 {
		p.tids[inside] = 0
		p.readTIDs()
		tid = p.tids[inside]
	}
	return tid
}
