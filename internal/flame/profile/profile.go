package profile

import (
	"time"

	"wprof/format"
)

// Ids of what a Profile interns; each is an index into the Profile's slice, of which 0 stands for nothing.
type (
	FrameID uint32
	NodeID  uint32
	LabelID uint32
	WakeID  uint32
)

// Profile is where the time of the threads of a capture went.
type Profile struct {
	About   About
	Threads []*Thread // by pid, tid and start

	Frames []Frame // places in the code; 0 is none
	Nodes  []Node  // call stacks as paths from the root; 0 is the empty stack
	Labels []Label // names that threads had; 0 is none
	// Waits tells by which system call those of the stacks wait for work that do: epoll_wait.
	Waits map[NodeID]string
	Wakes []Wake // who woke, for [Options].Wakes; 0 is nobody

	// Slot is how long one slot of time is, ns; 0: time was not cut into slots. Slots is their number. The first one begins
	// at About.From.
	Slot  int64
	Slots int

	Memory      int // bytes that it takes, at most
	closeTrails func()
}

// About is what a profile is of, for titles.
type About struct {
	Host, Kernel string
	Start        time.Time // when the first window opened; zero if that is not known
	Window       int64     // ns that were recorded or, after a time filter, kept; the sum of all windows
	From         int64     // ns from the opening of the first window to what is told: a time filter cuts off what is before
	Span         int64     // ns from there to the last window's close
	Sources      []Source  // of samples
	Samples      uint64    // in the times on the CPU that were folded
	Stray        uint64    // samples outside of any time on the CPU that is known of their thread
	CutStacks    uint64    // samples and times off whose user part looks cut
	UserStacks   uint64    // samples and times off whose stack has a user part
	Lost         uint64    // events, as far as their number is known
	Forgotten    int64     // threads, see [timeline.Timeline]
	Unnamed      uint64    // names of threads that were too many, and are shown as [more threads]
	Folded       int64     // ended threads, or processes, that were added up by name or as [more threads]
	IsLossy      bool      // events are missing, whether or not it is known how many
	OffCPU       string    // what the recorder took off-CPU stacks of; "" for none
	ShortBlocks  int64     // ns of times off that Options.MinBlock left out
	MinBlock     int64     // ns
	Recorder     Cost
	Events       []string // of [Options]; if there are any, cells are of events, and Ns the time of spans
	NotSeen      []string // of Events, those that the capture does not have
	OtherEvents  []string // names of other events that it has; a few
	IsCount      bool     // there are no spans among the events: Ns is their number
}

// Source is what takes samples.
type Source struct {
	Name   string
	Period int64 // ns
}

// Cost is the recorder's own.
type Cost struct {
	CPU    int64  // ns
	Memory uint64 // peak, bytes
}

// Thread is one thread; or, where threads were not asked for, all of one name that have ended (TID is 0 then).
type Thread struct {
	TID, PID int32
	Start    int64   // CLOCK_MONOTONIC ns
	Label    LabelID // the last one
	IsKernel bool
	Lifetime int64 // ns in the window
	Cells    []Cell
	Trail    Trail // what it did in order of time; empty without Options.Trail
}

// Cell is the time of a thread that goes to one place.
type Cell struct {
	CellKey
	Ns    int64
	Count uint64     // samples on the CPU, waits off it
	Slots []SlotTime // where in the profile's slots the time lies, in order; nil without Options.Slots
}

// CellKey is what a Cell is of.
type CellKey struct {
	Class Class
	State format.State // in which the thread left the CPU, of times off it
	CPU   uint32       // NoCPU unless Options.CPUs
	Label LabelID      // the thread's name then
	Stack NodeID       // 0 of ClassUnknown and ClassNew; a note where none was taken: [not sampled], [no stack]
	Wake  WakeID       // who woke the thread, of times off that ended so
}

// NoCPU stands for any CPU.
const NoCPU = ^uint32(0)

// SlotTime is time within one slot.
type SlotTime struct {
	Slot uint32
	Ns   int64
}

// Frame is one place in the code, with what is inlined there.
type Frame struct {
	Functions []Function // outermost first; never empty
	Kernel    bool
	Note      bool   // it is no place in the code: [not sampled], [no stack], [cut], [lost]
	Module    string // path of the file, or [kernel] and the like; "" if not known
	BuildID   string // of the module, in hex; "" if there is none
	Offset    uint64 // see format.Frame, but in the call and not behind it; 0 unless Options.Places
}

// Function is a function's name, fit for people, and where it is.
type Function struct {
	Name    string
	File    string
	Line    uint32
	Linkage string // as the linker knows it; "" without one
}

// Node is a call stack: that of its parent and one more frame.
type Node struct {
	Parent NodeID
	Frame  FrameID
}

// Label is a name that a thread had.
type Label struct {
	PID, TID      int32
	Comm, Process string // fit for people
}

// Wake is who woke a thread, and who had woken that one before.
type Wake struct {
	Label  LabelID // 0: not known
	Stack  NodeID  // where the waker was; 0: no stack was taken
	Before WakeID
}

// Release frees the memory of a profile of which only Close is still called.
func (p *Profile) Release() { *p = Profile{closeTrails: p.closeTrails} }

// Close gives back what the threads' trails hold.
func (p *Profile) Close() {
	if p.closeTrails != nil {
		p.closeTrails()
	}
}

// IsNotSampled tells whether a stack stands for there being no sample.
func (p *Profile) IsNotSampled(stack NodeID) bool {
	f := &p.Frames[p.Nodes[stack].Frame]
	return f.Note && f.Functions[0].Name == notSampled
}

// mainRole is that of the thread that a process began with.
const mainRole = "main"

// RoleName says what part a thread plays in its process, for people: main, or the thread's name.
func (p *Profile) RoleName(t *Thread) string {
	if t.TID != 0 && t.TID == t.PID {
		return mainRole
	}
	return p.Labels[t.Label].Comm
}
