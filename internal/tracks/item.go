package tracks

import "wprof/format"

// Item is a slice, an instant or a value of a counter that events of a plain kind or of an event type make.
type Item struct {
	Shape    Shape
	On       format.TypeTrack
	Track    string // name of its track, which belongs to that of the thread or CPU; "": instants are on that itself
	Task     *Task  // of TRACK_THREAD and TRACK_PROCESS; nil: not known
	CPU      uint32
	Open     bool  // it had not ended when the window closed
	From, To int64 // CLOCK_MONOTONIC ns; of an instant the same
	Name     string
	Type     string  // name of the kind or the event type
	Colour   string  // items with the same word have the same colour; "": any
	Value    float64 // of a counter
	Unit     string  // of a counter
	Args     []Arg
	Stack    *Stack // nil: none
}

// Shape says what an item is.
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

// ArgType says what an argument is.
type ArgType uint8

const (
	ArgUint ArgType = iota
	ArgInt
	ArgText
	ArgTask
	ArgFloat
	ArgStack
)
