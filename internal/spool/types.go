package spool

import "wprof/format"

// Header says what a spool is the spool of.
type Header struct {
	Session     *format.Session // open and close are filled in by the spool
	Rings       int
	RecorderPID int
	NoSched     bool // no switches are recorded, so nothing is known of what threads do
	// Sources are what takes samples. They become those of the session.
	Sources []*format.Source
	// Stacks: there are stacks, of samples or of anything else.
	Stacks bool
	// OffCPUMin is how long a thread must have been off its CPU, ns, for its stack to be told.
	OffCPUMin int64
}

// Round tells of one round of draining: the reader noted Time, then read all producer positions, then drained.
type Round struct {
	Time     int64    // CLOCK_MONOTONIC ns
	Producer []uint64 // by ring
	Drained  []uint64 // by ring: position up to which records have been given to [Writer.Ring]
}

// Loss is a number of records that no record in a ring tells of.
type Loss struct {
	CPU   uint32 // format.AllCPUs: not known
	Kind  format.Kind
	Cause format.Cause
	Count uint64
	From  int64 // when it may have begun, CLOCK_MONOTONIC ns; 0: not known
}

// Tail is what is known at the end of a recording.
type Tail struct {
	Close    int64 // when the window closed, CLOCK_MONOTONIC ns
	Losses   []Loss
	Programs []*format.ProgramCost
	Clocks   *format.ClockSnapshot
}

// Options say how a spool is finalised.
type Options struct {
	// Live: the Writer is still at work. Finalise writes what is certain after every round and returns after
	// [Writer.End] or when [Writer.Close] is called.
	Live bool
	// Progress is called now and then with the bytes of the spool that are done, and all of them; 0 while live.
	Progress func(done, total int64)
	// Names gives frames their names; nil: they get none. A live stream asks in a goroutine of its own, which has
	// ended when Finalise returns.
	Names     Namer
	Symbolize Symbolize
	// Cost is called at the very end for what the recorder has used; ring and spool bytes and the programs are
	// filled in if they are not.
	Cost func() *format.RecorderCost
}

// Summary says what a finalised stream holds.
type Summary struct {
	Open, Close int64
	Events      map[format.Kind]uint64
	Threads     int            // that the stream names, without the idle ones
	Lost        uint64         // events, as far as their number is known
	Losses      []*format.Loss // by CPU, kind and cause, of all sections
	LostByCause map[format.Cause]uint64
	Late        uint64
	Sections    int
	Damage      *Damage // nil: none

	Samples      uint64
	User, Kernel FrameCount
	Stacks       StackCount
	Mappings     uint64         // that were not kept, because there were too many
	Modules      []ModuleFrames // those with the most nameless frames first
}
