// Package tracks decides what timelines show of events: on which track, from when to when, under which name and with which
// arguments. Perfetto's packets and Chrome's JSON are encodings of it.
package tracks

import "wprof/format"

// Item is a slice, an instant or a value of a counter.
type Item struct {
	Shape    Shape
	On       format.TypeTrack
	Track    string // name of its track, which belongs to that of the thread or CPU; "": instants are on that itself
	Task     format.TaskID
	CPU      uint32
	Open     bool  // it had not ended when the window closed
	From, To int64 // CLOCK_MONOTONIC ns; of an instant the same
	Name     string
	Value    float64 // of a counter
	Unit     string  // of a counter
	Args     []Arg
	Stack    format.StackID // 0: none
}

// Shape says what an item is.
type Shape uint8

const (
	Instant Shape = iota
	Slice
	Counter
)

// Arg is an argument of an item.
type Arg struct {
	Name   string
	Type   ArgType
	Number uint64 // of ArgInt as int64, of ArgFloat its bits
	Text   string // any bytes
}

// ArgType says what an argument is.
type ArgType uint8

const (
	ArgUint ArgType = iota
	ArgInt
	ArgText
	ArgTask // id of a task, in Number
	ArgFloat
	ArgStack // id of a stack, in Number
)
