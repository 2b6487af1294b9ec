package tracks

import "wprof/format"

// Item is a slice, an instant or a value of a counter that events of a plain kind or of an event type make.
type Item struct {
	Shape Shape
	On    format.TypeTrack
	Track string // name of its track, which belongs to that of the thread or CPU; "": instants are on that itself
	Task  *Task  // nil: not known; of TRACK_THREAD and TRACK_PROCESS a thread, of TRACK_PROCESS one with a known process
	CPU   uint32
	Open  bool // it had not ended when the window closed
	// Interrupts: a slice in which the thread did not run. Drawn on the thread's own track, within its slices, it has no Track.
	Interrupts bool
	// Nests: the slices of the track nest, however many there are.
	Nests    bool
	Link     Link
	From, To int64 // CLOCK_MONOTONIC ns; of an instant the same
	Name     string
	Type     string  // name of the kind or the event type
	Colour   string  // items with the same word have the same colour; "": any
	Value    float64 // of a counter
	Group    string  // of a counter: the first words of Track, which many have in common; "": none
	Unit     string  // of a counter
	Args     []Arg   // with different names; none is stackName if Stack is set
	Stack    *Stack  // nil: none
	// Began is the thread in which a slice began, if Task is another one, in which it ended: an arrow leads there. nil: the same,
	// or it began before the window.
	Began *Task

	shortened bool
}

// stackName is the name under which encoders show an item's stack.
const stackName = "stack"

// threadName is the argument with the thread of an item that is on a track for all threads.
const threadName = "thread"

// lengthName is the name of the argument with the true length of a slice that is drawn shorter.
const lengthName = "length_ns"

// Shorten makes a slice begin later than it did. An argument has its true length.
func (i *Item) Shorten(from int64) {
	if !i.shortened {
		name := lengthName
		for i.arg(name) != nil {
			name += "_"
		}
		i.Args = append(i.Args, Arg{Name: name, Type: ArgInt, Number: uint64(i.To - i.From), Unit: "ns"})
	}
	i.shortened, i.From, i.Began = true, from, nil
}

// arg returns the argument with a name; nil: there is none.
func (i *Item) arg(name string) *Arg {
	for n := range i.Args {
		if i.Args[n].Name == name {
			return &i.Args[n]
		}
	}
	return nil
}

// place moves an item without a thread or process to the track of its thread or CPU, and names its track.
func (i *Item) place() {
	switch {
	case i.On != format.TypeTrack_TRACK_THREAD && i.On != format.TypeTrack_TRACK_PROCESS:
	case i.Task == nil || !i.Task.IsThread():
		i.On = format.TypeTrack_TRACK_CPU
	case i.Task.Def.Pid <= 0:
		i.On = format.TypeTrack_TRACK_THREAD
	}
	if i.On == format.TypeTrack_TRACK_CPU && i.CPU == format.AllCPUs {
		i.On = format.TypeTrack_TRACK_GLOBAL
	}
	if i.Track == "" && (i.Shape != ShapeInstant || i.On != format.TypeTrack_TRACK_THREAD) {
		i.Track = i.Type
	}
}

// Shape is how an item is drawn.
type Shape uint8

const (
	ShapeInstant Shape = iota
	ShapeSlice
	ShapeCounter
)

// Arg is an argument of an item.
type Arg struct {
	Name   string
	Type   ArgType
	Number uint64 // of ArgInt as int64, of ArgFloat its bits
	Unit   string // of numbers, as the event type has it; "ns" of durations; "": none
	Text   string // of ArgText: any bytes
	Task   *Task  // of ArgTask
	Stack  *Stack // of ArgStack
}

// ArgType is the type of an argument's value.
type ArgType uint8

const (
	ArgUint ArgType = iota
	ArgInt
	ArgText
	ArgTask
	ArgFloat
	ArgStack
)
