package capture

import (
	"io"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/spool"
)

// taskList lists all live threads: by the kernel's task iterator, and those processes by /proc that a kernel leaves
// out of it, as some hypervisors' guests do with their first process. Which ones those are is found out once.
type taskList struct {
	tracer  *bpf.Tracer
	wanted  bool // without a filter, every thread is
	listed  bool
	missing []int
}

// write writes a struct rec_task for each live thread.
func (l *taskList) write(w io.Writer) error {
	seen := seenPIDs{w: w, pids: map[int]bool{}}
	if err := l.tracer.ReadTasks(&seen); err != nil {
		return err
	}
	if !l.listed && proc.InitPIDNamespace() {
		l.listed = true
		pids, err := proc.PIDs("/proc")
		if err != nil {
			return nil // without /proc there is nobody to add
		}
		for _, pid := range pids {
			if !seen.pids[pid] {
				l.missing = append(l.missing, pid)
			}
		}
	}
	var records []byte
	for _, pid := range l.missing {
		records = l.append(records, proc.Threads("/proc", pid))
	}
	if len(records) == 0 {
		return nil
	}
	_, err := w.Write(records)
	return err
}

func (l *taskList) append(records []byte, threads []proc.Thread) []byte {
	leader := ""
	for _, t := range threads {
		if t.TID == t.PID {
			leader = t.Comm
		}
	}
	for _, t := range threads {
		records = spool.AppendTask(records, spool.LiveTask{
			At: proc.Monotonic(), TID: t.TID, PID: t.PID, PPID: t.PPID, Comm: t.Comm, ProcessComm: leader,
			Start: t.Start, Flags: t.Flags, State: t.State, Prio: t.Prio, CPU: t.CPU, Wanted: l.wanted,
		})
	}
	return records
}

// seenPIDs notes which processes pass. Records may be cut anywhere between two writes.
type seenPIDs struct {
	w    io.Writer
	rest []byte
	pids map[int]bool
}

func (s *seenPIDs) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	for len(s.rest) >= spool.TaskSize {
		_, pid := spool.TaskIDs(s.rest)
		s.pids[pid] = true
		s.rest = s.rest[spool.TaskSize:]
	}
	return s.w.Write(b)
}
