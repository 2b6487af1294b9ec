package profile

import (
	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// Selector selects threads by their definitions.
type Selector interface {
	NewSection()
	Fork(*format.Event)        // before its child is looked up
	Selects(*format.Task) bool // nil: its definition is lost
}

// Weight is what an event counts.
type Weight struct {
	Count bool   // one, also if it is a span
	Arg   string // the number in its field of this name; "": by Count
}

// Options select what a profile keeps apart. All of it costs memory.
type Options struct {
	Threads      bool // each thread by itself; otherwise ended threads with the same name are merged
	Addresses    bool // frames by address in the code, not only by function
	Inline       bool // what is inlined; Addresses includes it
	Lines        bool // lines in the source; Addresses includes them
	KernelFrames bool // all functions of the kernel; otherwise a system call is one frame: see [stacks.Scaffolding]
	Python       stacks.PythonView
	CPUs         bool             // times by CPU
	Objects      bool             // times by what threads waited for
	Cgroups      bool             // times by cgroup
	Wakes        int              // length of wakeup chains; 0: no wakers
	Slot         int64            // length of time slots, ns; 0: none
	MaxSlots     int              // maximum number of slots
	Stretch      bool             // double the length of slots when there are more; otherwise that is an error
	Trail        bool             // the trail of each thread; implies Threads
	Spread       bool             // divide on-CPU time in proportion to samples, not interval by interval: see Profile.Attribute
	MinBlock     int64            // leave out off-CPU intervals shorter than this, ns
	Memory       int              // maximum bytes while collecting; 0: the default for one profile
	Events       []string         // names of events that are counted by stack, instead of what threads do
	Probes       bool             // Events are ids or names of user-defined probes
	Weight       Weight           // of Events
	Inside       *Inside          // only the time of threads within these spans; nil: all
	Idle         bool             // include the idle threads
	Selector     Selector         // of the threads whose time is counted; nil: all. Others may be their wakers
	Also         timeline.Visitor // of the same stream, in the same pass; may be nil
}
