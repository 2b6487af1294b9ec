package spool

import "wprof/format"

// Header describes the recording of a spool.
type Header struct {
	Session     *format.Session // open and close are filled in by the spool
	Rings       int
	RecorderPID int
	NoSched     bool // no switches are recorded, so the states of threads are unknown
	// Sources are what takes samples. They become those of the session.
	Sources []*format.Source
	// Stacks: there are stacks, of samples or of anything else.
	Stacks bool
	// OffCPUMin is how long a thread must have been off its CPU, ns, for its stack to be written.
	OffCPUMin int64
	// TaskSize is the size of a rec_task in the lists of tasks: recorders before format 1.8 wrote them without a cgroup. The Writer sets it.
	TaskSize int
}

// Round is one round of draining: the reader noted Time, then read all producer positions, then drained.
type Round struct {
	Time     int64    // CLOCK_MONOTONIC ns
	Producer []uint64 // by ring
	Drained  []uint64 // by ring: position up to which records have been given to [Writer.Ring]
}

// Loss is a number of lost records that no record in a ring reports.
type Loss struct {
	CPU   uint32 // format.AllCPUs: unknown
	Kind  format.Kind
	Cause format.Cause
	Count uint64
	From  int64  // when it may have begun, CLOCK_MONOTONIC ns; 0: unknown
	Type  uint32 // of typed events: enum rec_type, or MISSING_TRACEPOINT for all tracepoints; 0: unknown
}

// Tail is what is known at the end of a recording.
type Tail struct {
	Close    int64 // when the window closed, CLOCK_MONOTONIC ns
	Losses   []Loss
	Programs []*format.ProgramCost
	Clocks   *format.ClockSnapshot

	FramesByTable, FramesByPointer uint64 // see [format.RecorderCost]
}
