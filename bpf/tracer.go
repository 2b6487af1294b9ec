//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
)

const defaultRingBytes = 8 << 20

// Tracer is the loaded and attached programs with their rings. Nothing of it outlives [Tracer.Close] or the process.
type Tracer struct {
	options       Options
	collection    *ebpf.Collection
	links         []io.Closer
	rings         *rings
	wakeups       *Wakeups
	unwind        *UnwindTables    // nil: user stacks are walked by frame pointer
	losses        *lossCounters    // full rings
	nestingLosses *lossCounters    // programs nested too deep
	missing       *missingCounters // events of sources; nil: there are no sources

	hotplug  sync.Mutex // CPUs come online at any time
	samplers []sampler
	samples  []SampleEvent
	started  bool                    // the events are enabled
	onEvent  func(SampleEvent) error // see OnSampleEvent; nil: none

	awaited process // see FollowFromExec

	reading sync.Mutex // the task iterators keep their clock in a variable
	tasks   *link.Iter
	blocked *link.Iter   // nil: not requested
	open    []*link.Iter // of threads, for what they have not ended at the close

	tracepoints *pins // links to tracepoints; nil: none
	rawPrograms []*ebpf.Program
	onEvents    []eventProgram
	watched     []*breakpoint
	watching    bool // the breakpoints are enabled
}

// Load loads and attaches the programs, which write no records until [Tracer.Arm]. An [Unsupported] describes what is
// missing; after an error no program is attached.
func Load(o Options) (*Tracer, error) {
	if err := o.OffCPU.validate(o.Off&format.GroupSched != 0); err != nil {
		return nil, err
	}
	read := o.Preloaded
	if read == nil {
		var err error
		if read, err = preload(o.tracepoints()); err != nil {
			return nil, err
		}
	}
	defer read.Release()
	o.Preloaded = nil // the tracer keeps its options, and this is large
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	if err := o.Sample.validate(); err != nil {
		return nil, err
	}
	if err := o.Sample.checkRate(); err != nil {
		return nil, err
	}
	if err := o.CheckPMU(); err != nil {
		return nil, err
	}
	if err := o.CheckCounters(); err != nil {
		return nil, err
	}
	var err error
	for _, o.OffCPU.Place = range o.places(read.types) {
		t := &Tracer{options: o}
		if err = t.load(read); err == nil {
			return t, nil
		}
		t.Close()
	}
	return nil, err
}

func (o *Options) setDefaults() error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count the CPUs: %w", err)
	}
	if o.Rings <= 0 || o.Rings > cpus {
		o.Rings = cpus
	}
	if o.RingBytes == 0 {
		o.RingBytes = defaultRingBytes
	}
	if o.RingBytes < os.Getpagesize() || o.RingBytes > 1<<30 || o.RingBytes&(o.RingBytes-1) != 0 {
		return fmt.Errorf("a ring of %d bytes is not possible: the size must be a power of two from %d to %d", o.RingBytes, os.Getpagesize(), 1<<30)
	}
	return nil
}

func (t *Tracer) load(read *Preloaded) error {
	if err := t.openSampleEvents(); err != nil {
		return err
	}
	spec := read.spec.Copy()
	if err := t.options.configure(spec); err != nil {
		return err
	}
	if err := dropMissing(spec, read.types); err != nil {
		return err
	}
	if err := t.options.findPreemptCount(spec, read.types); err != nil {
		return err
	}
	if err := t.options.findPreemptible(spec, read.types); err != nil {
		return err
	}
	if err := t.options.setProbes(spec, read); err != nil {
		return err
	}
	dropUnusedMaps(spec)
	rawTracepoint := spec.Programs[rawTracepointProgram]
	delete(spec.Programs, rawTracepointProgram) // not every kernel accepts it as it is
	if err := t.loadPrograms(spec, read.types); err != nil {
		return err
	}
	maps := t.collection.Maps
	var err error
	if t.options.Unwind.Tables {
		if t.unwind, err = t.newUnwindTables(spec); err != nil {
			return err
		}
	}
	if t.rings, err = mapRings(maps["rings"], maps["chunks"], t.options.RingBytes, t.options.slack()); err != nil {
		return err
	}
	if t.wakeups, err = mapWakeups(maps["wakeups"]); err != nil {
		return err
	}
	if t.losses, err = mapLosses(maps["losses"]); err != nil {
		return err
	}
	if t.nestingLosses, err = mapLosses(maps["nesting_losses"]); err != nil {
		return err
	}
	if t.missing, err = mapMissing(maps["missing"]); err != nil {
		return err
	}
	if err := t.openCounters(); err != nil {
		return err
	}
	if err := t.attach(); err != nil {
		return err
	}
	if err := t.attachRawTracepoints(rawTracepoint, t.loader(read.types)); err != nil {
		return err
	}
	if err := t.attachProbes(); err != nil {
		return err
	}
	if err := t.setAttached(); err != nil {
		return err
	}
	return t.seedFollowed()
}

// configure leaves only what the options need, and sets the sizes and variables.
func (o *Options) configure(spec *ebpf.CollectionSpec) error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count the CPUs: %w", err)
	}
	o.dropUnneeded(spec)
	if err := o.setFilter(spec); err != nil {
		return err
	}
	if err := o.setCalls(spec); err != nil {
		return err
	}
	if err := o.setPackets(spec); err != nil {
		return err
	}
	chunks, shift := chunksOf(o.RingBytes)
	spec.Maps["rings"].MaxEntries = uint32(o.Rings)
	for _, name := range []string{"wakeups", "unwind_wakeups"} {
		spec.Maps[name].MaxEntries = uint32(os.Getpagesize()) // the smallest size that the kernel accepts
	}
	spec.Maps["chunks"].MaxEntries = uint32(o.Rings * chunks)
	spec.Maps["chunks"].ValueSize = uint32(1<<shift + o.slack())
	spec.Maps["losses"].MaxEntries = uint32(cpus)
	spec.Maps["nesting_losses"].MaxEntries = uint32(cpus)
	spec.Maps["pending_returns"].MaxEntries = uint32(cpus)
	spec.Maps["irq_states"].MaxEntries = uint32(cpus)
	spec.Maps["tracepoints"].MaxEntries = uint32(max(1, len(o.Tracepoints)))
	if err := o.setLimits(spec, cpus); err != nil {
		return err
	}
	if err := o.setCounters(spec, cpus); err != nil {
		return err
	}
	if err := o.setPMU(spec); err != nil {
		return err
	}
	if err := setMachine(spec); err != nil {
		return err
	}
	if err := o.setPython(spec); err != nil {
		return err
	}
	var calls [waitCalls]uint16
	copy(calls[:], o.OffCPU.Waits)
	kernel, user, table := o.depths()
	return setVariables(spec, map[string]any{
		"cgroups_enabled": hasCgroups(o), "cgroup_v1": proc.V1Hierarchies(),
		"waits_enabled": o.OffCPU.Waits != nil, "wait_calls": calls,
		"ring_count": uint32(o.Rings), "rings_shared": o.Rings < cpus,
		"ring_bytes": uint64(o.RingBytes), "ring_chunks": uint32(chunks), "chunk_shift": uint32(shift), "args_enabled": !o.NoArgs,
		"sample_kernel": o.Sample.Kernel, "sample_user": o.Sample.User, "stack_depth": kernel, "user_depth": user, "table_depth": table,
		"offcpu_place": o.OffCPU.kernelPlace(), "offcpu_kernel": o.OffCPU.Kernel, "offcpu_user": o.OffCPU.User,
		"offcpu_min": uint64(o.OffCPU.Min), "waker_kernel": o.Waker.Kernel, "waker_user": o.Waker.User,
		"source_kernel": o.SourceStacks.Kernel, "source_user": o.SourceStacks.User, "fault_stacks": o.FaultStacks, "lock_stacks": o.LockStacks,
		"wake_bytes": o.wakeBytes(), "stacks_checked": o.checkStacks, "unwind_tables": o.Unwind.Tables, "unwind_counted": o.Unwind.Counts,
	})
}

// waitCalls is WAIT_CALLS of wait.h.
const waitCalls = 512

func setVariables(spec *ebpf.CollectionSpec, values map[string]any) error {
	for name, value := range values {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set %s of the kernel programs: %w", name, err)
		}
	}
	return nil
}

// loadPrograms loads all programs. The start of a thread's state is read from fields that may differ in some kernels:
// if loading fails, it is tried again without it.
func (t *Tracer) loadPrograms(spec *ebpf.CollectionSpec, types *btf.Cache) (err error) {
	if t.collection, err = loadCollection(spec, types); err == nil {
		return nil
	}
	if err := spec.Variables["since_enabled"].Set(false); err != nil {
		return fmt.Errorf("switch off the times of the task iterator: %w", err)
	}
	var again error
	if t.collection, again = loadCollection(spec, types); again == nil {
		return nil
	}
	if errors.Is(err, unix.EPERM) && t.options.needsFentry() {
		return unsupported(err, "this kernel can probe neither its functions nor BPF programs: it has no kprobes (CONFIG_KPROBES), and refuses fentry (%v)", unix.EPERM)
	}
	return loadError(err)
}

// recursiveAttach is how the verifier refuses a tracing program that is to be attached to another one (kernel/bpf/verifier.c,
// bpf_check_attach_target). Since Linux 6.8 this is permitted once.
const recursiveAttach = "Cannot recursively attach"

func loadError(err error) error {
	// If bpf(2) is missing, the library's feature test fails first, and the library reports that instead.
	if _, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0); errno == unix.ENOSYS {
		err = errno
	}
	return explainLoadError(err, readWord("/sys/kernel/security/lockdown"))
}

// explainLoadError turns an error of bpf(2) into a sentence. The library's own guesses, such as RLIMIT_MEMLOCK, are left
// out where they cannot be right.
func explainLoadError(err error, lockdown string) error {
	switch {
	case (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)) && strings.Contains(lockdown, "[confidentiality]"):
		// It refuses the helpers that read memory, which the verifier reports as an invalid argument.
		return unsupported(err, "the kernel does not let kernel programs be loaded: it is locked down for confidentiality, "+
			"see /sys/kernel/security/lockdown; boot it without lockdown=confidentiality, or record on another machine")
	case errors.Is(err, unix.EPERM):
		return unsupported(err, "bpf(2) is refused (%v): a container's seccomp profile or a security module forbids it; "+
			"record outside the container", unix.EPERM)
	case errors.Is(err, unix.ENOSYS):
		return unsupported(err, "this kernel has no bpf(2), or a container's seccomp profile hides it: it must be built with CONFIG_BPF_SYSCALL")
	case strings.Contains(err.Error(), recursiveAttach):
		return unsupported(err, "this kernel does not let BPF programs of type tracing be probed (tp_btf, fentry, fexit, iterators), "+
			"only others, such as those of sockets (%v): Linux 6.8 or later is needed", unix.EINVAL)
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EACCES):
		return unsupported(err, "this kernel does not accept the kernel programs (%v): Linux 6.1 or later is needed", err)
	}
	return fmt.Errorf("load the kernel programs: %w", err)
}

func (t *Tracer) attach() error {
	for _, p := range programs() {
		program := t.collection.Programs[p.name]
		if program == nil {
			continue
		}
		if err := t.attachProgram(p, program); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracer) attachProgram(p program, program *ebpf.Program) (err error) {
	switch p.name {
	case "tasks":
		t.tasks, err = attachIterator(program)
		return err
	case "blocked":
		t.blocked, err = attachIterator(program)
		return err
	case "sample", pmuProgram:
		return t.attachSamplers(p.name)
	case pmuTracepointProgram:
		return t.attachPMUTracepoints(program)
	case tracepointProgram:
		return t.attachTracepoints(program)
	}
	if program.Type() == ebpf.Syscall {
		return nil // user space runs it
	}
	if p.source.Event != 0 {
		return t.attachToEvent(p.source.Event, program)
	}
	if p.tracepoint == "" && p.kind == format.KindTyped {
		iter, err := attachIterator(program)
		if err == nil {
			t.open = append(t.open, iter)
		}
		return err
	}
	var l link.Link
	if p.tracepoint == "" {
		l, err = t.attachFinish(program)
	} else if l, err = link.AttachTracing(link.TracingOptions{Program: program}); err != nil {
		err = unsupported(err, "this kernel does not let a program be attached to the tracepoint %s (%v)", p.tracepoint, err)
	}
	if err == nil {
		t.links = append(t.links, l)
	}
	return err
}

func attachIterator(program *ebpf.Program) (*link.Iter, error) {
	iter, err := link.AttachIter(link.IterOptions{Program: program})
	if err != nil {
		return nil, unsupported(err, "this kernel does not support the task iterator (%v)", err)
	}
	return iter, nil
}

// Arm makes the programs write records from now on, and starts the samples unless [Tracer.StartSampling] has.
func (t *Tracer) Arm() error {
	if err := t.StartSampling(); err != nil {
		return err
	}
	if err := t.freezeCalls(false); err != nil {
		return err
	}
	if err := t.startWatching(); err != nil {
		return err
	}
	if err := t.setArmed(true); err != nil {
		return err
	}
	return t.seedWatched()
}

// Disarm ends that. When it returns, no program is still writing a record.
func (t *Tracer) Disarm() error {
	if err := t.freezeCalls(true); err != nil {
		return err
	}
	if err := t.setArmed(false); err != nil {
		return err
	}
	if err := t.stopWatching(); err != nil {
		return err
	}
	if err := t.stopSampling(); err != nil {
		return err
	}
	t.AwaitPrograms()
	return nil
}

// WriteOpen writes to the rings what has begun before closedAt, the close of the window, and not ended before it. At the end of a recording it is
// called between [Tracer.Disarm] and the last round. For a snapshot (goesOn) it is called at closedAt while the programs go on recording: then the
// records have later times, and what ends meanwhile may have two. Calls of WriteOpen and [Tracer.ReadBlocked] must not be concurrent.
func (t *Tracer) WriteOpen(closedAt int64, goesOn bool) error {
	if err := t.collection.Variables["goes_on"].Set(goesOn); err != nil {
		return fmt.Errorf("set whether the window goes on: %w", err)
	}
	if err := t.collection.Variables["closed_at"].Set(uint64(closedAt)); err != nil {
		return fmt.Errorf("set the close of the window: %w", err)
	}
	for _, iter := range t.open {
		if err := t.readIterator(iter, io.Discard); err != nil {
			return err
		}
	}
	for name, program := range t.collection.Programs {
		if program.Type() != ebpf.Syscall || name == countedProgram || name == leftProgram {
			continue
		}
		if _, err := program.Run(&ebpf.RunOptions{}); err != nil {
			return fmt.Errorf("write what is open at the close of the window: %w", err)
		}
	}
	return nil
}

// AwaitPrograms returns when all programs that were running when it was called have ended, also on a CPU that the
// hypervisor has descheduled. It takes milliseconds, and may be called from any goroutine.
func (t *Tracer) AwaitPrograms() { awaitPrograms() }

func awaitPrograms() {
	// Programs run inside a read-side section of RCU; this waits for all of them.
	const membarrierGlobal = 1 // MEMBARRIER_CMD_GLOBAL, include/uapi/linux/membarrier.h
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
		time.Sleep(20 * time.Millisecond) // CPUs without a tick refuse it
	}
}

func (t *Tracer) setArmed(armed bool) error {
	if err := t.collection.Variables["armed"].Set(armed); err != nil {
		return fmt.Errorf("arm or disarm the kernel programs: %w", err)
	}
	return nil
}

// SetGeneration sets the spool's generation, with which the programs mark the stacks that they have written. Until
// [Tracer.AwaitPrograms] has returned, some may still use the one before.
func (t *Tracer) SetGeneration(n uint32) error {
	if err := t.collection.Variables["generation"].Set(n); err != nil {
		return fmt.Errorf("set the generation: %w", err)
	}
	return nil
}

// Rings returns the rings, valid until [Tracer.Close]. A CPU writes to the ring of its number modulo the number of rings.
func (t *Tracer) Rings() []*Ring { return slices.Clone(t.rings.all) }

// UnwindTables is valid until [Tracer.Close]; nil: user stacks are walked by frame pointer.
func (t *Tracer) UnwindTables() *UnwindTables { return t.unwind }

// Wakeups are those of the reader of the rings: the sampling timer finds a ring a quarter full, see [Options.WakesReader], and again
// while it stays that full. They are valid until [Tracer.Close].
func (t *Tracer) Wakeups() *Wakeups { return t.wakeups }

// Close detaches the programs and releases the rings.
func (t *Tracer) Close() error {
	var errs []error
	closeAll := func(c io.Closer) { errs = append(errs, c.Close()) }
	for _, l := range t.links {
		closeAll(l)
	}
	for _, iter := range append(t.open, t.tasks, t.blocked) {
		if iter != nil {
			closeAll(iter)
		}
	}
	errs = append(errs, t.closeTracepoints(), t.closeBreakpoints(), t.closeSampleEvents())
	if t.rings != nil {
		errs = append(errs, t.rings.close())
	}
	if t.wakeups != nil {
		errs = append(errs, t.wakeups.close())
	}
	if t.unwind != nil {
		errs = append(errs, t.unwind.close())
	}
	for _, l := range []*lossCounters{t.losses, t.nestingLosses} {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	errs = append(errs, t.missing.close())
	if t.collection != nil {
		t.collection.Close()
	}
	*t = Tracer{}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("detach the kernel programs: %w", err)
	}
	return nil
}
