package records

import "wprof/format"

const (
	maxValues = 17
	maxTasks  = 3
	maxLabels = 3
)

// Record is one event. [Kinds] defines the fields of each kind: those of TypeTask are in Tasks, in their order, TypeText in
// Text, TypeNumbers in Numbers, TypeArgs in Args, TypeLabel in Labels, and all others in Values. It is valid until the call of
// emit returns; its tasks stay valid.
type Record struct {
	Time    int64 // ns from the opening of the first window
	Kind    Kind
	CPU     uint32 // AllCPUs: about all
	Has     uint32 // bit i: field i of the kind is present
	Values  [maxValues]int64
	Tasks   [maxTasks]*Task
	Text    string // valid UTF-8
	Numbers []float64
	Args    []Arg
	Type    *format.EventType // of a typed event; nil: its definition was lost
	Labels  *Labels           // of a typed event, and of a switch with a wait
}

// Labels are texts that a definition has: the type of a typed event, or a wait. They do not change.
type Labels [maxLabels]string // valid UTF-8

// AllCPUs is the CPU of a record that is about every CPU.
const AllCPUs = format.AllCPUs

// Lacks reports whether a field is absent.
func (r *Record) Lacks(field int) bool { return r.Has&(1<<field) == 0 }

// Task is a thread under one name. Strings are valid UTF-8.
type Task struct {
	// Number counts the tasks from 0, in the order in which they first occur in records. A thread that continues in another
	// section of the stream is another task there.
	Number  int64
	TID     int32 // 0: of an idle thread; -1: the thread is unknown, or a filter hides it
	PID     int32 // 0: of an idle thread, or not known
	Comm    string
	PComm   string // the name of the process
	PPID    int32  // 0: not known
	Start   int64  // when the thread was created, ns from the opening of the first window; valid if PID is not 0
	Kernel  bool   // it is a kernel thread
	Idle    bool   // it is a CPU's idle thread
	JSON    []byte // the JSON object; nil if not requested
	NSTID   int32  // in its own PID namespace; 0: that is the first one, or not known
	NSPID   int32
	command uint32 // see [Maker.Command]
	cgroup  uint32 // see [Maker.Cgroup]
}
