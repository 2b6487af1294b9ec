package profile

import (
	"time"
	"unique"

	"wprof/format"
	"wprof/internal/waits"
)

// Ids of what a Profile interns: indexes into its slices. 0 stands for none.
type (
	FrameID uint32
	NodeID  uint32
	LabelID uint32
	WakeID  uint32
)

// Profile is the time of the threads of a capture by call stack.
type Profile struct {
	About   About
	Threads []*Thread // by pid, tid and start

	Frames []Frame // functions, or with Options.Addresses code addresses; 0 is none
	Nodes  []Node  // call stacks as paths from the root; 0 is the empty stack
	Labels []Label // names that threads had; 0 is none
	// Objects are what threads waited for, as "recv 10.0.0.3:5432", see [waits.Label]; the first is empty.
	Objects []string
	Wakes   []Wake // wakers, for [Options].Wakes; 0 is none

	// Slot is the length of a time slot, ns; 0: there are none. Slots is their number. The first one begins
	// at About.From.
	Slot  int64
	Slots int

	NotSampled NodeID   // the stack [not sampled]
	alike      []NodeID // for each node the first one that looks the same, see findAlike; may be nil

	Memory      int // upper limit of the bytes that it takes
	closeTrails func()
}

// About describes the recording and what is missing from the profile.
type About struct {
	Host, Kernel   string
	Start          time.Time // when the first window opened; zero if that is not known
	Window         int64     // ns that were recorded or, after a time filter, kept; the sum of all windows
	From           int64     // ns from the opening of the first window to where the profile begins, later with a time filter
	Span           int64     // ns from there to the last window's close
	Sources        []Source  // of samples
	Samples        uint64    // within on-CPU intervals
	Stray          uint64    // samples outside of all known on-CPU intervals of their thread
	CutStacks      uint64    // of UserStacks, those whose user part looks cut
	UserStacks     uint64    // samples and off-CPU intervals whose stack has a user part
	Lost           uint64    // events, as far as their number is known
	DroppedThreads int64     // see [timeline.Timeline]
	Unnamed        uint64    // thread names beyond the limit, shown as [more threads]
	Merged         int64     // ended threads, or processes, that were merged by name or as [more threads]
	IsLossy        bool      // events are missing, whether or not it is known how many
	OffCPU         string    // for which off-CPU intervals the recorder took stacks; "": none
	ShortBlocks    int64     // ns of off-CPU intervals that Options.MinBlock left out
	MinBlock       int64     // ns
	Spread         bool      // of [Options]: Attribute divides on-CPU time among samples
	Recorder       Cost
	Events         []string // of [Options]; if there are any, cells are of events, and Ns the time of spans
	Inside         string   // the probe in whose spans the time lies; "": all time
	NotSeen        []string // those of Events that the capture does not have
	OtherEvents    []string // names of other events that it has, a few
	IsCount        bool     // no event is a span, or spans count one each, and Ns is the number of events
	SumOf          string   // Ns is the sum of the numbers in this field of Events; "": it is not
	NoNumber       uint64   // events that have none, with SumOf
	UserFrames     bool     // there are frames of user code
	SourceLines    bool     // there are frames with a line in the source, whether or not Options.Lines keeps it
}

// Period returns the longest period of the sources of samples, ns; 0 if it is not known.
func (a *About) Period() (longest int64) {
	for _, s := range a.Sources {
		longest = max(longest, s.Period)
	}
	return longest
}

// Source is a source of samples.
type Source struct {
	Name   string
	Period int64 // ns
}

// Cost is the recorder's own cost.
type Cost struct {
	CPU    int64  // ns
	Memory uint64 // peak, bytes
}

// Thread is one thread; or, without Options.Threads, all ended threads of one name (TID is 0 then).
type Thread struct {
	TID, PID int32
	Start    int64   // CLOCK_MONOTONIC ns
	Label    LabelID // the last one
	IsKernel bool
	IsMerged bool  // it is several threads; with Options.Spread, each was on the CPU for a short time
	Lifetime int64 // ns in the window
	Cells    []Cell
	Trail    Trail // what it did in order of time; empty without Options.Trail
}

// Cell is the time of a thread with one key. With Options.Spread, on-CPU time is in cells without a stack, or with [not sampled] if it is
// of merged threads that have no sample; the cells of samples have no time. See [Profile.Attribute].
type Cell struct {
	CellKey
	Ns    int64
	Count uint64     // samples on the CPU, off-CPU intervals that begin in it
	Waits uint64     // for a CPU; one after a block is part of the block's interval
	Slots []SlotTime // where in the profile's slots the time lies, in order; nil without Options.Slots
}

// CellKey identifies a Cell of a thread.
type CellKey struct {
	Class Class
	// Of what Attribute returns: the time is that of a view's range; and of several threads.
	Divided, Shared bool
	State           format.State // off-CPU: in which the thread left the CPU
	Wait            waits.Result // of ClassBlocked and ClassIdle
	Object          ObjectID     // what it waited for; 0: not known, or without Options.Objects
	CPU             uint32       // NoCPU unless Options.CPUs
	Label           LabelID      // the thread's name then
	Stack           NodeID       // 0 for ClassUnknown and ClassNew; a note where none was taken: [not sampled], [no stack]
	Wake            WakeID       // of the off-CPU interval, if a waking ended it
}

// NoCPU means that CPUs are not kept apart.
const NoCPU = ^uint32(0)

// SlotTime is time within one slot.
type SlotTime struct {
	Slot    uint32
	Samples uint32 // on the CPU; only with Options.Spread
	Ns      int64
}

// Frame is one frame of call stacks, with the functions inlined there.
type Frame struct {
	Functions []Function // outermost first; never empty
	Kernel    bool
	Python    bool
	Awaiting  bool   // a coroutine of Python that does not run
	Note      bool   // it is not code: [not sampled], [no stack], [cut], [lost]
	Module    string // path of the file, or [kernel] and the like; "" if not known
	BuildID   string // of the module, in hex; "" if there is none
	Offset    uint64 // as in format.Frame, but in the call instruction, not after it; 0 unless Options.Addresses
}

// Function is a function's demangled name and its location in the source.
type Function struct {
	Name    string
	File    string
	Line    uint32
	Linkage string // symbol name; "" without one
}

// Node is a call stack: that of its parent, and one more frame.
type Node struct {
	Parent NodeID
	Frame  FrameID
}

// Label is a name that a thread had. All names are printable.
type Label struct {
	PID, TID    int32
	Comm        string               // of the thread
	Process     string               // the short label of its process's command line: see [cmdline.Label]
	ProcessComm string               // the name that the kernel has of its process
	place       unique.Handle[Place] // with Options.Cgroups; zero: there is none. A word, because many threads are in the same place
}

// Place is where a thread runs: the path of its cgroup, and its container.
type Place struct{ Cgroup, Container string }

// SetPlace sets where the thread runs.
func (l *Label) SetPlace(in Place) { l.place = unique.Make(in) }

// Place returns where the thread runs; the texts are empty without Options.Cgroups.
func (l *Label) Place() Place {
	if l.place == (unique.Handle[Place]{}) {
		return Place{}
	}
	return l.place.Value()
}

// Thread returns the thread's name, or that of its process if it has none of its own.
func (l *Label) Thread() string {
	if l.Comm == l.ProcessComm {
		return l.Process
	}
	return l.Comm
}

// Wake is the waker of a thread, and the wake of that waker.
type Wake struct {
	Label  LabelID // 0: not known
	Stack  NodeID  // where the waker was; 0: no stack was taken
	Before WakeID
}

// Release frees the memory of a profile. Only Close may be called after it.
func (p *Profile) Release() { *p = Profile{closeTrails: p.closeTrails} }

// Close releases the threads' trails.
func (p *Profile) Close() {
	if p.closeTrails != nil {
		p.closeTrails()
	}
}

// IsNotSampled reports whether a stack is [not sampled].
func (p *Profile) IsNotSampled(stack NodeID) bool {
	f := &p.Frames[p.Nodes[stack].Frame]
	return f.Note && f.Functions[0].Name == notSampled
}

// mainRole is the role of a process's first thread.
const mainRole = "main"

// RoleName returns the role of a thread in its process: main, or the thread's name.
func (p *Profile) RoleName(t *Thread) string {
	if t.TID != 0 && t.TID == t.PID {
		return mainRole
	}
	return p.Labels[t.Label].Comm
}
