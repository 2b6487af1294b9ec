package assemble

import (
	"cmp"
	"slices"

	"wprof/format"
)

type finishedProcess struct {
	pid   uint32
	nsPID uint32
	start int64
	comm  comm
	ns    int64
}

// withProcessName is an identity with the current name of its process. A record may be older than the one that named the
// process, and one of a thread other than the leader may have read the name before its own time.
func (r *schedState) withProcessName(ident *identity, at int64) *identity {
	g := r.processes[ident.pid]
	if g == nil || g.named == 0 || g.comm == ident.processComm || at >= g.named && (ident.tid == ident.pid || at-g.named >= freshName) {
		return ident
	}
	as := *ident
	as.processComm = g.comm
	return &as
}

// joinProcess puts a thread into its process and gives the process's name to the other threads when it comes from the leader.
func (r *schedState) joinProcess(t *thread, at int64) {
	leader := t.tid == t.pid
	g := r.processes[t.pid]
	if g == nil || leader && g.start != 0 && g.start != t.start {
		g = &process{pid: t.pid, made: r.list}
		r.processes[t.pid] = g
	}
	t.join(g)
	g.nsPID = t.nsPID
	if leader {
		g.start, g.named = t.start, max(g.named, at)
	}
	if g.comm == t.processComm {
		return
	}
	g.comm = t.processComm
	for _, other := range g.threads {
		if other.processComm != g.comm {
			other.processComm = g.comm
			other.was, other.def = other.latest(), nil
		}
	}
}

// isProcessLive reports whether a process has a thread that has not exited.
func (r *schedState) isProcessLive(pid uint32) bool {
	g := r.processes[pid]
	return g != nil && slices.ContainsFunc(g.threads, (*thread).isLive)
}

func (r *schedState) finish(g *process) {
	r.finished = append(r.finished, finishedProcess{g.pid, g.nsPID, g.start, g.comm, g.ns})
	if len(r.finished) >= 2*format.MaxProcesses {
		slices.SortFunc(r.finished, func(a, b finishedProcess) int { return cmp.Compare(b.ns, a.ns) })
		r.finished = r.finished[:format.MaxProcesses]
	}
}

// processTimes are the CPU times since the last call.
func (r *schedState) processTimes() []*format.ProcessTime {
	var all []*format.ProcessTime
	for _, f := range r.finished {
		all = append(all, &format.ProcessTime{Pid: int32(f.pid), Comm: slices.Clone(f.comm.bytes()), Ns: f.ns, Start: f.start, NsPid: int32(f.nsPID)})
	}
	r.finished = r.finished[:0]
	for _, g := range r.processes {
		if g.ns > 0 {
			all = append(all, &format.ProcessTime{Pid: int32(g.pid), Comm: slices.Clone(g.comm.bytes()), Ns: g.ns, Start: g.start, NsPid: int32(g.nsPID)})
		}
		g.ns = 0
	}
	slices.SortFunc(all, func(a, b *format.ProcessTime) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Pid, b.Pid), cmp.Compare(a.Start, b.Start))
	})
	return all
}

// count adds the CPU times up to a time.
func (r *schedState) count(at int64) {
	for i := range r.cpus {
		c := &r.cpus[i]
		if t := c.Running; t != nil && t.process != nil && at > c.counted {
			t.process.ns += at - c.counted
		}
		c.counted = max(c.counted, at)
	}
}
