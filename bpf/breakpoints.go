//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/probe"
)

// Of struct perf_event_attr that the library has no names for, include/uapi/linux/perf_event.h.
const (
	perfTypeBreakpoint = 5
	inheritThread      = 1 << 35 // new threads, not new processes
	removeOnExec       = 1 << 36 // the addresses are of the old program
)

// maxScans bounds how often the threads of a process are listed until none is new.
const maxScans = 1000

// breakpoint is one place of a program, with an event for each thread of a process, or for each CPU.
type breakpoint struct {
	program int // its number
	site    *probe.Site
	watch   probe.Watching
	pid     int // 0: that of a command that has not begun, or of the kernel
	events  []breakpointEvent
	seen    map[int]bool // threads that have it, or have ended
	threads []int        // for which an event was created
}

// breakpointEvent is a perf event of a breakpoint.
type breakpointEvent struct {
	fd  int
	cpu int // everyCPU: it follows a thread
}

const everyCPU = -1

// breakpoints is how many there are.
func (o *Options) breakpoints() (n int) {
	for _, p := range o.Probes {
		if p.Context == probe.Hit {
			n += len(p.Sites)
		}
	}
	return n
}

// WatchesCommand reports whether a breakpoint is in the command that is to be recorded: [Tracer.WatchCommand] sets it.
func (o *Options) WatchesCommand() bool {
	for _, p := range o.Probes {
		for i := range p.Sites {
			if isOfCommand(p, &p.Sites[i]) {
				return true
			}
		}
	}
	return false
}

func isOfCommand(p *probe.Program, s *probe.Site) bool {
	return p.Context == probe.Hit && s.PID == 0 && !p.Watch.Kernel
}

// watch sets the breakpoints of a program, disabled.
func (t *Tracer) watch(program *ebpf.Program, number int) error {
	p := t.options.Probes[number]
	for i := range p.Sites {
		b := &breakpoint{program: number, site: &p.Sites[i], watch: p.Watch, pid: p.Sites[i].PID}
		t.watched = append(t.watched, b)
		if isOfCommand(p, b.site) {
			continue
		}
		if err := b.open(program, b.site.Address); err != nil {
			return err
		}
	}
	return nil
}

// WatchCommand sets and enables the breakpoints of a command, which is stopped. address returns where one is in it.
func (t *Tracer) WatchCommand(pid int, address func(*probe.Site) (uint64, error)) error {
	for _, b := range t.watched {
		if !isOfCommand(t.options.Probes[b.program], b.site) {
			continue
		}
		at, err := address(b.site)
		if err != nil {
			return err
		}
		moved := *b.site
		moved.Address = at
		b.pid, b.site = pid, &moved
		if err := b.open(t.collection.Programs[probeName(b.program)], at); err != nil {
			return err
		}
		if err := b.enable(); err != nil {
			return err
		}
		if err := b.seed(t.collection.Maps["probe_watched"]); err != nil {
			return err
		}
	}
	return nil
}

func (b *breakpoint) attr(address uint64) unix.PerfEventAttr {
	length := uint64(b.watch.Length)
	if b.watch.Access == probe.WatchExecute {
		length = executeLength
	}
	attr := unix.PerfEventAttr{
		Type: perfTypeBreakpoint, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
		Bits: unix.PerfBitDisabled, Bp_type: uint32(b.watch.Access), Ext1: address, Ext2: length,
	}
	if !b.watch.Kernel {
		attr.Bits |= unix.PerfBitInherit | inheritThread | removeOnExec
	}
	return attr
}

// open creates the events.
func (b *breakpoint) open(program *ebpf.Program, address uint64) error {
	if b.watch.Kernel {
		return b.openCPUs(program)
	}
	return b.openThreads(program, address)
}

func (b *breakpoint) openCPUs(program *ebpf.Program) error {
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		if err := b.openCPU(program, cpu); err != nil {
			return err
		}
	}
	return nil
}

// watchCPU sets the breakpoints of the kernel on a CPU that has come online, and enables them if the programs are armed.
func (t *Tracer) watchCPU(cpu int) error {
	for _, b := range t.watched {
		if !b.watch.Kernel {
			continue
		}
		if err := b.openCPU(t.collection.Programs[probeName(b.program)], cpu); err != nil {
			return err
		}
		if !t.watching {
			continue
		}
		if err := b.enable(); err != nil {
			return err
		}
	}
	return nil
}

// openCPU creates the event of a CPU. One from before the CPU was offline is closed first: it is hit no more, and still takes one of the CPU's few
// breakpoints.
func (b *breakpoint) openCPU(program *ebpf.Program, cpu int) error {
	if i := slices.IndexFunc(b.events, func(e breakpointEvent) bool { return e.cpu == cpu }); i >= 0 {
		if err := unix.Close(b.events[i].fd); err != nil {
			return err
		}
		b.events = slices.Delete(b.events, i, i+1)
	}
	attr := b.attr(b.site.Address)
	if err := b.add(&attr, program, -1, cpu); err != nil && !errors.Is(err, unix.ENODEV) {
		return b.explain(err)
	}
	return nil
}

// openThreads creates an event for each thread. Threads that begin meanwhile inherit those of the thread that begins them, if it has them.
func (b *breakpoint) openThreads(program *ebpf.Program, address uint64) error {
	attr, isFirst := b.attr(address), b.seen == nil
	if isFirst {
		b.seen = make(map[int]bool)
	}
	for scan := range maxScans {
		threads, err := threadsOf(b.pid)
		if err != nil {
			return fmt.Errorf("set a breakpoint at %s: list the threads of process %d: %w", b.site.Name, b.pid, err)
		}
		uncovered := false
		for _, tid := range threads {
			if b.seen[tid] {
				continue
			}
			b.seen[tid] = true
			if (scan > 0 || !isFirst) && b.hasInherited(&attr, tid) {
				continue
			}
			switch err := b.add(&attr, program, tid, everyCPU); {
			case errors.Is(err, unix.ESRCH): // it has ended
			case err != nil:
				return b.explain(err)
			default:
				uncovered = true
				b.threads = append(b.threads, tid)
			}
		}
		if !uncovered {
			break
		}
	}
	if len(b.threads) == 0 {
		return fmt.Errorf("set a breakpoint at %s: process %d has ended", b.site.Name, b.pid)
	}
	return nil
}

func threadsOf(pid int) (tids []int, err error) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, err
}

// hasInherited reports whether a thread has the breakpoint from the one that has created it: then it can have no more others than a thread
// of which that is known. Nothing else says it.
func (b *breakpoint) hasInherited(attr *unix.PerfEventAttr, tid int) bool {
	for _, known := range b.threads {
		if free, alive := freeBreakpoints(attr, known); alive {
			own, _ := freeBreakpoints(attr, tid)
			return own <= free
		}
	}
	return false
}

// freeBreakpoints returns how many more breakpoints of a kind a thread can have; alive is false if it has ended.
func freeBreakpoints(like *unix.PerfEventAttr, tid int) (n int, alive bool) {
	const most = 16
	alive = true
	attr := *like
	attr.Bits = unix.PerfBitDisabled
	var fds [most]int
	for n < most {
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			alive = !errors.Is(err, unix.ESRCH)
			break
		}
		fds[n] = fd
		n++
	}
	for _, fd := range fds[:n] {
		_ = unix.Close(fd)
	}
	return n, alive
}

func (b *breakpoint) add(attr *unix.PerfEventAttr, program *ebpf.Program, tid, cpu int) error {
	fd, err := unix.PerfEventOpen(attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	b.events = append(b.events, breakpointEvent{fd, cpu})
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD())
}

// explain turns an error of perf_event_open(2) into a sentence.
func (b *breakpoint) explain(err error) error {
	at := fmt.Sprintf("set a breakpoint at %s (%s at %#x)", b.site.Name, b.watch.Access, b.site.Address)
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%s: all breakpoints of a thread are used, by these probes or by others, such as a debugger's: end those, or leave some of these out (%w)", at, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: the kernel or a debugger keeps the breakpoints for itself (%w)", at, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: it is refused (%w): breakpoints of processes need CAP_PERFMON and CAP_SYS_PTRACE, those of the kernel CAP_SYS_ADMIN", at, err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV):
		return unsupported(err, "%s: the kernel or the processor has no breakpoint for this access there (%v); "+
			"code of the kernel can have them only if it has kprobes (CONFIG_KPROBES) and permits them there", at, err)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// startWatching enables all breakpoints, before the programs are armed: from then on no thread is without.
//
// A thread that was being created when its parent's event was created is in no list before it is complete: it is looked for once more. And one
// whose parent's event is being enabled may inherit it as it was before: it is enabled by the second round.
func (t *Tracer) startWatching() error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	t.watching = true
	for _, b := range slices.Backward(t.watched) { // it lacks those that were set last
		if len(b.threads) > 0 {
			if err := b.openThreads(t.collection.Programs[probeName(b.program)], b.site.Address); err != nil && !hasEnded(b.pid) {
				return err
			}
		}
	}
	for range 2 {
		for _, b := range t.watched {
			if err := b.enable(); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasEnded(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err != nil
}

// seedWatched gives the programs, which are armed, what is in memory.
func (t *Tracer) seedWatched() error {
	for _, b := range t.watched {
		if err := b.seed(t.collection.Maps["probe_watched"]); err != nil {
			return err
		}
	}
	return nil
}

func (b *breakpoint) enable() error {
	for _, event := range b.events {
		if err := unix.IoctlSetInt(event.fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return fmt.Errorf("enable the breakpoint at %s: %w", b.site.Name, err)
		}
	}
	return nil
}

// seed gives the program what is in memory, unless a hit has done it already.
func (b *breakpoint) seed(watched *ebpf.Map) error {
	if watched == nil || b.watch.Length == 0 || b.watch.Kernel || b.pid == 0 {
		return nil
	}
	var value [8]byte
	in, err := os.Open(filepath.Join("/proc", strconv.Itoa(b.pid), "mem"))
	if err != nil {
		return nil //nolint:nilerr // the process has ended: before is null
	}
	defer in.Close()
	if _, err := in.ReadAt(value[:b.watch.Length], int64(b.site.Address)); err != nil {
		return nil //nolint:nilerr // as after a munmap(2): before is null
	}
	key := struct{ process, slot uint32 }{uint32(b.pid), uint32(b.program)}
	if err := watched.Update(&key, &value, ebpf.UpdateNoExist); err != nil && !errors.Is(err, ebpf.ErrKeyExist) {
		return fmt.Errorf("give the kernel programs what is at %s: %w", b.site.Name, err)
	}
	return nil
}

// stopWatching disables all breakpoints.
func (t *Tracer) stopWatching() error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	t.watching = false
	for _, b := range t.watched {
		for _, event := range b.events {
			if err := unix.IoctlSetInt(event.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
				return fmt.Errorf("disable the breakpoint at %s: %w", b.site.Name, err)
			}
		}
	}
	return nil
}

func (t *Tracer) closeBreakpoints() (err error) {
	for _, b := range t.watched {
		for _, event := range b.events {
			err = errors.Join(err, unix.Close(event.fd))
		}
	}
	return err
}
