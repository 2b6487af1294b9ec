package capture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

const (
	// threadShare is the time between two lists per listed thread: listing one takes about 1 us. Changes between lists are
	// in the records of forks, renames and ends, unless some were lost.
	threadShare = 1500 * time.Microsecond

	// longestListing bounds the time from one list to the next.
	longestListing = 30 * time.Second

	// slicePause is the pause between two slices of a list at the beginning and at the end of a recording. All other threads
	// can have the CPU then.
	slicePause = 500 * time.Microsecond

	// missingLimit bounds the wait for /proc.
	missingLimit = time.Second
)

// taskSource is a list of threads; *bpf.TaskList in a recording.
type taskSource interface {
	Read([]byte) (int, error)
	Close() error
}

// taskSink takes lists of threads; *spool.Writer in a recording.
type taskSink interface {
	BeginTasks()
	Tasks([]byte) error
	EndTasks() error
}

// taskLists lists all live threads: at the beginning of each generation while there are few, else every 30 s. A list is read in
// slices of 315 threads, at most one in each round, because its reader has a real-time priority: 20,000 threads at once take
// 20 ms.
type taskLists struct {
	open    func() (taskSource, error)
	missing func() []byte // threads that the kernel's list leaves out, as struct rec_tasks; nil: none
	sink    taskSink
	// shortest bounds the time from one list to the next: half a generation, because generations are not equally long.
	shortest time.Duration

	list  taskSource    // nil: none is under way
	rest  <-chan []byte // result of missing for this list; nil: it is written
	done  bool          // the kernel's list has been read up to its end
	buf   [bpf.TaskSlice]byte
	bytes int   // of the list under way
	began int64 // when it, or else the last one, began
	next  int64 // when the next one may begin
	again bool  // records were lost since the last one began
}

// begin begins a list. One that is under way stays incomplete.
func (l *taskLists) begin() error {
	l.abandon()
	list, err := l.open()
	if err != nil {
		return err
	}
	l.list, l.done, l.again, l.bytes, l.began = list, false, false, 0, proc.Monotonic()
	l.sink.BeginTasks()
	if l.missing != nil {
		rest := make(chan []byte, 1)
		go func() { rest <- l.missing() }()
		l.rest = rest
	}
	return nil
}

func (l *taskLists) abandon() {
	if l.list != nil {
		_ = l.list.Close()
	}
	l.list, l.rest = nil, nil
}

// underWay reports whether a list has begun and not ended.
func (l *taskLists) underWay() bool { return l.list != nil }

// slice reads the next slice of the list under way.
func (l *taskLists) slice() error {
	for !l.done {
		n, err := l.list.Read(l.buf[:])
		if n > 0 {
			l.bytes += n
			if err := l.sink.Tasks(l.buf[:n]); err != nil {
				return err
			}
		}
		l.done = errors.Is(err, io.EOF)
		if err != nil && !l.done {
			return fmt.Errorf("list the threads: %w", err)
		}
		if n > len(l.buf)-2*ringdata.TaskSize {
			return nil // a full slice: the rest waits for the next round
		}
	}
	if l.rest != nil {
		select {
		case records := <-l.rest:
			l.rest = nil
			if err := l.sink.Tasks(records); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return l.end()
}

func (l *taskLists) end() error {
	l.abandon()
	wait := threadShare * time.Duration(l.bytes/ringdata.TaskSize)
	if l.again {
		wait = 0
	}
	l.next = l.began + min(max(wait, l.shortest), longestListing).Nanoseconds()
	return l.sink.EndTasks()
}

// round reads a slice. A new list begins with a generation, if one is due.
func (l *taskLists) round(generation bool) error {
	if !l.underWay() {
		if !generation || proc.Monotonic() < l.next {
			return nil
		}
		if err := l.begin(); err != nil {
			return err
		}
	}
	return l.slice()
}

// recordsLost makes a list due with the next generation, because only a list replaces lost records of threads.
func (l *taskLists) recordsLost() {
	l.again = true
	l.next = min(l.next, l.began+l.shortest.Nanoseconds())
}

// all makes a whole list. Between its slices it pauses and then calls between.
func (l *taskLists) all(between func() error) error {
	if err := l.begin(); err != nil {
		return err
	}
	for waited := time.Duration(0); ; {
		if err := l.slice(); err != nil || !l.underWay() {
			return err
		}
		if l.done {
			if waited += slicePause; waited > missingLimit {
				l.abandon()
				return nil
			}
		}
		// Not a Go timer: those depend on threads of ordinary priority.
		rest := unix.NsecToTimespec(slicePause.Nanoseconds())
		_ = unix.Nanosleep(&rest, nil)
		if err := between(); err != nil {
			return err
		}
	}
}

// missingProcesses returns the processes that the kernel's list leaves out: process 1 in guests of some hypervisors. /proc is
// read first, so that no process that begins later is among them.
func missingProcesses(tracer *bpf.Tracer) (missing []int, err error) {
	if !proc.InitPIDNamespace() {
		return nil, nil
	}
	pids, err := proc.PIDs("/proc")
	if err != nil {
		return nil, nil // without /proc there is nothing to add
	}
	seen := seenPIDs{pids: make(map[int]bool)}
	if err := tracer.ReadTasks(&seen); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if !seen.pids[pid] {
			missing = append(missing, pid)
		}
	}
	return missing, nil
}

// appendThreads appends a struct rec_task for each thread of a process; wanted: they pass the filter.
func appendThreads(records []byte, threads []proc.Thread, wanted bool) []byte {
	leader := ""
	for _, t := range threads {
		if t.TID == t.PID {
			leader = t.Comm
		}
	}
	for _, t := range threads {
		records = spool.AppendTask(records, spool.LiveTask{
			At: proc.Monotonic(), TID: t.TID, PID: t.PID, PPID: t.PPID, Comm: t.Comm, ProcessComm: leader,
			Start: t.Start, Flags: t.Flags, State: t.State, Prio: t.Prio, CPU: t.CPU, Wanted: wanted,
		})
	}
	return records
}

// seenPIDs collects the processes in the records written to it. Records may be split anywhere between two writes.
type seenPIDs struct {
	rest []byte
	pids map[int]bool
}

func (s *seenPIDs) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	for len(s.rest) >= ringdata.TaskSize {
		_, pid := spool.TaskIDs(s.rest)
		s.pids[pid] = true
		s.rest = s.rest[ringdata.TaskSize:]
	}
	return len(b), nil
}
