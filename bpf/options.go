//go:build linux

package bpf

import (
	"wprof/format"
	"wprof/internal/packetfilter"
	"wprof/internal/pmu"
	"wprof/internal/probe"
	"wprof/internal/sources"
	"wprof/internal/tracepoint"
)

// Options configure what is recorded, and the rings.
type Options struct {
	Rings     int          // number of rings, which CPUs share if there are more CPUs; 0: one ring a CPU
	RingBytes int          // size of each, a power of two and at least a page; 0: 8 MiB
	Off       format.Group // groups that are switched off; task-life records are still written, without the filters' bits, to identify threads
	Sources   sources.Set  // event types that are recorded
	// Tracepoints are recorded with the number of their places here.
	Tracepoints  []*tracepoint.Tracepoint
	Probes       []*probe.Program  // of user-defined probes; their types have numbers behind those of Tracepoints
	ProbeStacks  Stacks            // of those that take stacks
	Counters     []*pmu.Event      // that are read at each switch, up to MaxCounters
	Calls        Calls             // system calls, if they are among Sources
	Packets      packetfilter.Node // which packets are recorded, if they are among Sources; nil: all
	StackDepth   int               // maximum frames of each part of a stack, up to MaxStackDepth; 0: as many as there is room for
	NoArgs       bool              // an exec is recorded without its command line
	Sample       Sample
	PMU          []PMUSample // the types of their samples have numbers behind those of Probes
	OffCPU       OffCPU
	Waker        Stacks
	SourceStacks Stacks            // of the events of Sources that have stacks
	FaultStacks  bool              // of all page faults, not only of major ones
	LockStacks   bool              // of waits for kernel locks
	Limits       map[uint32]uint32 // events a second and CPU of types of Sources, up to MaxLimit; by ringdata.MissingTypeTracepoint of all Tracepoints together
	Filter       Filter
	SelfPID      int // the process that Filter.NoSelf excludes
	Unwind       Unwinding
	Preloaded    *Preloaded // what [Check] returned; nil: Load reads it itself
	Follow       bool       // there is a process condition, even if Filter has none: FollowChildrenOf adds the processes that meet it

	probeGlobs          []string // patterns of the strings that probes compare
	attachesMany        bool     // one link has many uprobes: since Linux 6.6
	attachesManyKprobes bool     // with CONFIG_FPROBE

	countByRunQueue bool // tests: find the preempt count as on kernels whose programs cannot name the variable
	preemptible     bool // tests: as on kernels that preempt threads in programs of tracepoints
	skipsFirst      bool // tests: leave out programs for which there is a second one, as if the kernel skipped them
	copyRawProgram  bool // tests: as on kernels without cookies for raw tracepoints
	checkStacks     bool // tests: compare each stack with the kernel's own walk
}

// Unwinding configures how user stacks are walked, see unwind.h. The zero value is by frame pointer.
type Unwinding struct {
	Tables bool
	Memory int  // of the kernel for tables, bytes; 0: 256 MiB
	Counts bool // count frames, and why walks end ([UnwindCounts]): 50 ns a stack
	Python Python
	Ruby   Python
}

// Stacks selects the parts of a stack that are taken.
type Stacks struct{ Kernel, User bool }

func (s Stacks) any() bool { return s.Kernel || s.User }

// Filter selects threads. A thread is selected if it meets every given condition, a list being
// met by any of its entries, and is in no deny-list. A record is written if one of its threads is selected.
//
// PIDs, Idle, Kthread and Children make one condition, that on the process: any of them is enough.
type Filter struct {
	PIDs, NoPIDs                     []int32
	TIDs, NoTIDs                     []int32
	Names, NoNames                   []string // globs with * and ?, on the process's name: that of its leader
	ThreadNames, NoThreadNames       []string
	Cgroups, NoCgroups               []string // patterns of paths, see [container.Match]
	Containers, NoContainers         []string // the same
	Idle, NoIdle, Kthread, NoKthread bool

	// Children lets descendants of the processes in PIDs meet the process condition too. Without PIDs it lets
	// descendants of processes whose name Names matches meet the condition on the name. A process that has become a
	// descendant stays one.
	Children bool

	NoSelf bool
}
