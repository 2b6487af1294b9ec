package report

import (
	"errors"

	"wprof/format"
	"wprof/internal/filter"
	"wprof/internal/timeline"
)

// DefaultLimit is the usual maximum number of entries of a list.
const DefaultLimit = 8

// Options are what a report covers.
type Options struct {
	Limit  int    // of each list
	Source string // of the capture, for commands; "": FILE
	// Selector selects the threads that the report is about; nil: all. The others only explain what these do.
	Selector *filter.Selector
	Threads  bool // make a report of each thread too
	// MaxLive bounds the threads that live at the same time, for what collects other things beside the report; 0: the timeline's own limit.
	MaxLive int
}

// Report is what a capture says, as --json writes it. docs/report.md describes each field; a test compares the two. Lists are never
// null and have at most Options.Limit entries.
type Report struct {
	WindowNs   int64      `json:"window_ns"`
	CPUs       int        `json:"cpus"`
	Processes  int        `json:"processes"`
	Threads    int        `json:"threads"`
	TotalNs    int64      `json:"total_ns"` // lifetimes of all threads in the window
	WorkNs     int64      `json:"work_ns"`  // of TotalNs, without waits for work and unknown time
	Samples    uint64     `json:"samples"`
	LostData   bool       `json:"lost_events"`
	Findings   []Finding  `json:"findings"`
	Time       []Time     `json:"time"`
	Interrupts []Part     `json:"interrupts"` // that took the time of the class interrupts
	Functions  []Function `json:"functions"`
	Waits      []Wait     `json:"waits"`
	Locks      []Lock     `json:"locks"`
	Delays     []Delay    `json:"delays"`
	Longest    []Interval `json:"longest"`

	DroppedThreads int64 `json:"-"`
	LivedNs        int64 `json:"-"` // of each process, for how long its longest thread was there in the window, added up
}

// Finding is something that held threads up, with the numbers behind it.
type Finding struct {
	Kind     string  `json:"kind"`
	Weight   float64 `json:"weight"`
	WeightOf string  `json:"weight_of"` // what Weight is a share of: the time at work (WorkNs), packets; "": of nothing, and it is 1
	Process  string  `json:"process"`
	PID      int32   `json:"pid"`
	Summary  string  `json:"summary"`
	Command  string  `json:"command"` // shows it
}

// Time is the time of a class.
type Time struct {
	Class string  `json:"class"`
	Ns    int64   `json:"ns"`
	Share float64 `json:"share"` // of TotalNs
	Count uint64  `json:"count"`
}

// Function is a function on the CPU. Its times are estimated from samples.
type Function struct {
	Name    string   `json:"name"`
	Self    float64  `json:"self"` // share of the on-CPU time
	Total   float64  `json:"total"`
	SelfNs  int64    `json:"self_ns"`
	TotalNs int64    `json:"total_ns"`
	Callers []Caller `json:"callers"`
}

// Caller is a function that calls another one.
type Caller struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // of the called function's total time
}

// Wait is what threads of a process waited for in one function.
type Wait struct {
	Class     string `json:"class"`
	Object    string `json:"object"` // peer, file or lock; "" if not known
	Process   string `json:"process"`
	PID       int32  `json:"pid"`
	Function  string `json:"function"`
	Ns        int64  `json:"ns"`
	Count     uint64 `json:"count"`
	LongestNs int64  `json:"longest_ns"`
	ForWork   bool   `json:"for_work"`
	Wakers    []Part `json:"wakers"` // threads that ended the waits
}

// Part is a part of a time.
type Part struct {
	Name  string `json:"name"`
	Ns    int64  `json:"ns"`
	Count uint64 `json:"count"`
}

// Lock is a lock for which threads waited.
type Lock struct {
	Object    string `json:"object"` // address of the futex, path, or function of the kernel
	Kernel    bool   `json:"kernel"`
	Semaphore bool   `json:"semaphore"` // that threads pass on to each other
	Process   string `json:"process"`
	PID       int32  `json:"pid"`
	Waits     uint64 `json:"waits"`
	Ns        int64  `json:"ns"`
	LongestNs int64  `json:"longest_ns"`
	Owners    []Part `json:"owners"`     // threads that woke the waiting ones, or that the lock names where they still wait
	Waiters   []Part `json:"waiters"`    // threads
	Functions []Part `json:"functions"`  // that wait for it
	OwnerTime []Part `json:"owner_time"` // what owners did while others waited
	Chain     string `json:"chain"`      // locks and other waits that the owner waits for, in turn; "" if it does not
}

// Delay is the time that threads of a process waited for a CPU on which another process ran.
type Delay struct {
	Process   string `json:"process"`
	PID       int32  `json:"pid"`
	By        string `json:"by"` // "": not known
	ByPID     int32  `json:"by_pid"`
	Preempted bool   `json:"preempted"` // it lost the CPU to By, else it was woken while By ran
	Ns        int64  `json:"ns"`
	Count     uint64 `json:"count"`
	LongestNs int64  `json:"longest_ns"`
}

// Interval is one wait that was not for work.
type Interval struct {
	StartNs  int64  `json:"start_ns"` // after the opening of the window, as in Perfetto
	Ns       int64  `json:"ns"`
	Class    string `json:"class"`
	Object   string `json:"object"`
	Thread   string `json:"thread"`
	TID      int32  `json:"tid"`
	Process  string `json:"process"`
	PID      int32  `json:"pid"`
	Function string `json:"function"`
	Waker    string `json:"waker"` // "": not known
	Open     bool   `json:"open"`  // it had not ended when the window closed
}

// Make reads a stream to its end. With an error of the stream it also returns the report about everything before.
func Make(r *format.Reader, o Options) (*Report, error) {
	c := NewCollector(r, o)
	err := timeline.Visit(r, c)
	report := c.Report()
	if c.failed != nil && !errors.Is(err, c.failed) {
		err = errors.Join(err, c.failed)
	}
	return report, err
}
