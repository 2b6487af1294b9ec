package columns

import (
	"wprof/internal/container"
	"wprof/internal/records"
)

// taskRow is a row of tasks.parquet.
type taskRow struct {
	*records.Task
	first   int64 // time of the first record with it
	command string
	cgroup  string // "": not known
	place   container.Place
}

func taskFields() []field[taskRow] {
	return []field[taskRow]{
		integer("number", func(r *taskRow) int64 { return r.Number }),
		integer("first_ts", func(r *taskRow) int64 { return r.first }),
		optionalShort("tid", func(r *taskRow) (int64, bool) { return int64(r.TID), !r.Idle }),
		requiredShort("pid", func(r *taskRow) int64 { return int64(r.PID) }),
		text("comm", func(r *taskRow) string { return r.Comm }),
		text("pcomm", func(r *taskRow) string { return r.PComm }),
		optionalShort("ppid", func(r *taskRow) (int64, bool) { return int64(r.PPID), r.PPID != 0 }),
		optionalInteger("start", func(r *taskRow) (int64, bool) { return r.Start, r.PID != 0 }),
		optionalText("command", func(r *taskRow) (string, bool) { return r.command, r.command != "" }),
		optionalText("cgroup", func(r *taskRow) (string, bool) { return r.cgroup, r.cgroup != "" }),
		optionalText("runtime", func(r *taskRow) (string, bool) { return r.place.Runtime, r.place.Runtime != "" }),
		optionalText("container", func(r *taskRow) (string, bool) { return r.place.ID, r.place.ID != "" }),
		optionalText("pod", func(r *taskRow) (string, bool) { return r.place.Pod, r.place.Pod != "" }),
		optionalText("unit", func(r *taskRow) (string, bool) { return r.place.Unit, r.place.Unit != "" }),
		optionalShort("ns_tid", func(r *taskRow) (int64, bool) { return int64(r.NSTID), r.NSTID != 0 }),
		optionalShort("ns_pid", func(r *taskRow) (int64, bool) { return int64(r.NSPID), r.NSPID != 0 }),
		flag("kernel", func(r *taskRow) bool { return r.Kernel }),
		flag("idle", func(r *taskRow) bool { return r.Idle }),
	}
}

// taskSet is a set of tasks by number.
type taskSet []uint64

// add adds a task and reports whether it was new. Numbers are consecutive.
func (s *taskSet) add(number int64) bool {
	at, bit := number>>6, uint64(1)<<(number&63)
	for int64(len(*s)) <= at {
		*s = append(*s, 0)
	}
	isNew := (*s)[at]&bit == 0
	(*s)[at] |= bit
	return isNew
}
