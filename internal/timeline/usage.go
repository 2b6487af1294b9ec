package timeline

import (
	"cmp"
	"slices"

	"wprof/format"
)

// Usage adds up each process's time on the CPU, as far as one section tells: for the end block. The idle threads are
// not counted.
type Usage struct {
	defs    Definitions
	cpus    []usageCPU
	byID    []*usageProcess
	named   int                     // ids with a definition that have been seen
	byPID   map[int32]*usageProcess // the latest process of a pid
	seen    []*usageProcess
	nothing usageProcess // stands for idle threads and for ids without a definition
}

type usageCPU struct {
	running *usageProcess // nil: not known, or nobody who counts
	from    int64
}

type usageProcess struct {
	pid   int32
	nsPID int32
	start int64 // of the leader; 0 when it has not been seen
	comm  []byte
	ns    int64
}

// NewUsage returns a Usage for a section that begins.
func NewUsage(defs Definitions) *Usage {
	return &Usage{defs: defs, byPID: make(map[int32]*usageProcess)}
}

// Apply takes the next event. Late ones say nothing here: whoever ran then has been counted without them.
func (u *Usage) Apply(e *format.Event) {
	switch e.Kind {
	case format.KindSwitch:
		if e.Flags&format.FlagLate != 0 {
			return
		}
		var next *usageProcess
		if e.Flags&format.FlagObject != 0 {
			next = u.process(format.TaskID(e.Args[format.SwitchNext]))
		}
		u.runs(e.CPU, next, e.Time)
	case format.KindStateCPU:
		u.state(e)
	case format.KindCPULeft:
		u.runs(e.CPU, nil, e.Time)
	case format.KindLost:
		if LosesState(e) {
			u.lost(e.CPU, int64(e.Args[format.LostFrom]))
		}
	}
}

// Close returns what every process used up to the end of the section and begins anew.
func (u *Usage) Close(at int64) []*format.ProcessTime {
	for i := range u.cpus {
		u.runs(uint32(i), nil, at)
	}
	var all []*format.ProcessTime
	for _, p := range u.seen {
		if p.ns > 0 {
			all = append(all, &format.ProcessTime{Pid: p.pid, Comm: p.comm, Ns: p.ns, Start: p.start, NsPid: p.nsPID})
		}
	}
	slices.SortFunc(all, func(a, b *format.ProcessTime) int {
		return cmp.Or(cmp.Compare(a.Pid, b.Pid), cmp.Compare(a.Start, b.Start))
	})
	*u = *NewUsage(u.defs)
	return all
}

// runs says who has a CPU from a time on.
func (u *Usage) runs(n uint32, p *usageProcess, at int64) {
	if uint64(n) >= uint64(len(u.cpus)) {
		if n >= maxCPUs || p == nil {
			return
		}
		u.cpus = append(u.cpus, make([]usageCPU, int(n)+1-len(u.cpus))...)
	}
	c := &u.cpus[n]
	if c.running != nil && at > c.from {
		c.running.ns = format.Sum(c.running.ns, at-c.from)
	}
	c.running, c.from = p, at
}

func (u *Usage) state(e *format.Event) {
	if e.Flags&format.FlagSubject == 0 {
		u.runs(e.CPU, nil, e.Time)
		return
	}
	u.runs(e.CPU, u.process(e.Task), e.Time)
}

func (u *Usage) lost(cpu uint32, from int64) {
	for i := range u.cpus {
		if cpu == format.AllCPUs || cpu == uint32(i) {
			u.runs(uint32(i), nil, from)
		}
	}
}

func (u *Usage) process(id format.TaskID) *usageProcess {
	if int64(id) < int64(len(u.byID)) {
		if p := u.byID[id]; p != nil {
			return p
		}
	}
	d := u.defs.Task(id)
	p := u.find(d)
	if d == nil {
		return p
	}
	u.named++
	// Ids far beyond the number of threads are looked up every time: only a hostile stream has them.
	if int64(id) <= 4*int64(u.named)+1<<16 {
		for int64(len(u.byID)) <= int64(id) {
			u.byID = append(u.byID, nil)
		}
		u.byID[id] = p
	}
	return p
}

func (u *Usage) find(d *format.Task) *usageProcess {
	if d == nil || d.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) != 0 {
		return &u.nothing
	}
	p := u.byPID[d.Pid]
	leader := d.Tid == d.Pid
	if p == nil || leader && p.start != 0 && p.start != d.Start {
		p = &usageProcess{pid: d.Pid}
		u.byPID[d.Pid] = p
		u.seen = append(u.seen, p)
	}
	if leader {
		p.start = d.Start
	}
	p.comm, p.nsPID = d.ProcessComm, d.NsPid
	return p
}
