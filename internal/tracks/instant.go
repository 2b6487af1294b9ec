package tracks

import "wprof/format"

// InstantKind is the kind of an [Instant].
type InstantKind uint8

const (
	Wakes    InstantKind = iota // it makes Object runnable
	Preempts                    // it takes the CPU from Object, which could have run on
	Forks                       // it makes Object
	Execs                       // it runs the program Path
	Renames                     // it had the name of Object before, which is the same thread
	Exits                       // with Code and Signal
)

// Instant is an action of a thread at one time. It is on the thread's own track; of the idle task, on that of idle on CPU.
type Instant struct {
	Kind   InstantKind
	At     int64 // CLOCK_MONOTONIC ns
	Task   *Task // the acting thread; only of Wakes and Preempts it may be the idle task
	CPU    uint32
	Object *Task  // of Wakes, Preempts, Forks and Renames
	Path   []byte // of Execs
	OldTID int32  // of Execs: the tid that the thread had before, if it was not its process's first one; 0: the same
	Code   uint64 // of Exits: the status, see wait(2)
	Signal uint64 // of Exits: the signal that killed it; 0: none
	Stack  *Stack // of Wakes: where the waker was; nil: none was taken

	// Of Wakes: the CPU that the thread is to run on, and its priority.
	TargetCPU uint32
	Prio      int32
	Interrupt bool // it happens in an interrupt, and Task is only the interrupted thread

	Arrow uint64 // the [Arrow.ID] of the one that begins here; 0: none
}

// String returns the action in a word.
func (k InstantKind) String() string {
	return [...]string{Wakes: "wakes", Preempts: "preempts", Forks: "fork", Execs: "exec", Renames: "rename", Exits: "exit"}[k]
}

// Name returns the name of the instant. task and object are the names of Task and Object, and path is Path, as the encoder's
// format writes them.
func (i *Instant) Name(task, object, path string) string {
	switch i.Kind {
	case Wakes, Preempts:
		return i.Kind.String() + " " + object
	case Forks:
		return "fork: " + object
	case Execs:
		return "exec: " + path
	case Renames:
		return "rename: " + object + " to " + task
	}
	return i.Kind.String()
}

// Sample is one sample of a source: where a thread was at that time.
type Sample struct {
	At     int64 // CLOCK_MONOTONIC ns
	Task   *Task // nil: its definition is missing; it may be the idle task
	CPU    uint32
	Source uint64         // id of a [format.Source] of the session; 0: not known
	Stack  *Stack         // nil: none was taken
	Counts []format.Count // what counters have counted since the switch to the thread, in the order of the section's; empty: not known
}
