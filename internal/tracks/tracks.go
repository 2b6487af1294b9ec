// Package tracks decides what timelines show of events: on which track, from when to when, under which name and with which
// arguments. Perfetto's packets and Chrome's JSON are encodings of it.
package tracks

import "wprof/format"

// Item is a slice or an instant.
type Item struct {
	On       format.DrawnOn
	Track    string // name of its track, which belongs to that of the thread or CPU; "": instants are on that itself
	Task     format.TaskID
	CPU      uint32
	IsSlice  bool
	Open     bool  // it had not ended when the window closed
	From, To int64 // CLOCK_MONOTONIC ns; of an instant the same
	Name     string
	Args     []Arg
	Stack    format.StackID // 0: none
}

// Arg is an argument of an item.
type Arg struct {
	Name   string
	Type   ArgType
	Number uint64 // of ArgInt as int64
	Text   string // any bytes
}

// ArgType says what an argument is.
type ArgType uint8

const (
	ArgUint ArgType = iota
	ArgInt
	ArgText
	ArgTask // id of a task, in Number
)
