package report

import (
	"cmp"

	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// process is what the threads of a process did that have been added up.
type process struct {
	pid             int32
	name            uint32 // short label of the command line
	comm            uint32
	time            [classes]amount
	room            sum                  // of waits for room in a queue
	peers           map[waits.Class]*sum // by class, with the objects as parts
	threads         int
	interrupts      parts
	lived           int64 // ns in the window of the thread that was there for longest
	busiest         int64 // ns on the CPU of the thread with the most
	busiestThread   string
	samples, faults uint64
	runs, moved     uint64
	shortRuns       int64
	movedRuns       int64
	latency         int64
	demand          int64 // ns for which the busiest thread ran or could have
	timers          sum   // by timers, but for those for work; the parts are functions
}

// maxProcesses bounds the processes that are kept apart; others are merged by name.
const maxProcesses = 1 << 13

func (o *totals) processOf(t *thread) *process {
	if p := o.processes[t.who.pid]; p != nil {
		if t.who.tid == t.who.pid && p.comm != t.who.processComm { // the leader knows its name
			p.name, p.comm = t.who.process, t.who.processComm
		}
		return p
	}
	if len(o.processes) < maxProcesses {
		o.known++
		p := &process{pid: t.who.pid, name: t.who.process, comm: t.who.processComm}
		o.processes[p.pid] = p
		return p
	}
	o.countMerged(t.who.pid)
	name := o.c.names.text[t.who.processComm]
	p := o.ended[name]
	if p == nil {
		if len(o.ended) >= maxProcesses {
			name = otherNames
			if p = o.ended[name]; p != nil {
				return p
			}
		}
		if o.ended == nil {
			o.ended = make(map[string]*process)
		}
		p = &process{name: o.c.names.id(name), comm: o.c.names.id(name)}
		o.ended[name] = p
	}
	return p
}

// maxPIDs is PID_MAX_LIMIT in include/linux/threads.h. Only damage goes beyond it.
const maxPIDs = 1 << 22

// countMerged counts a process that is not kept apart, once for all its threads.
func (o *totals) countMerged(pid int32) {
	if o.merged == nil {
		o.merged = make([]uint64, maxPIDs/64)
	}
	at := uint32(pid) % maxPIDs
	if word, bit := &o.merged[at/64], uint64(1)<<(at%64); *word&bit == 0 {
		*word |= bit
		o.known++
	}
}

// retire adds a thread whose time is all known to what reports are about.
func (c *Collector) retire(t *thread) {
	t.of.Own = nil
	if !t.isSelected {
		return
	}
	for i := range t.pending { // it was not seen to stop running
		c.countSample(t, t.pending[i].place)
	}
	t.pending = nil
	for _, to := range t.into {
		to.addThread(t)
	}
	t.waits = nil
}

// addThread adds a thread to its process and to the tables.
func (o *totals) addThread(t *thread) {
	p := o.processOf(t)
	o.threads++
	p.threads++
	p.lived = max(p.lived, t.lived)
	p.samples, p.faults = p.samples+t.samples, p.faults+t.faults
	p.runs, p.moved, p.shortRuns, p.movedRuns = p.runs+t.runs, p.moved+t.moved, p.shortRuns+t.shortRuns, p.movedRuns+t.movedRuns
	p.latency += t.latency
	if ns := t.in(classOnCPU).ns; ns > p.busiest {
		p.demand = ns + t.in(classInterrupt).ns + t.in(int(waits.Runnable)).ns + t.in(int(waits.Preempted)).ns
		p.busiest, p.busiestThread = ns, o.c.names.thread(t.who)
	}
	o.addQuota(t, p)
	for _, one := range t.interrupts {
		p.interrupts.add(one.Name, one.Ns, one.Count)
		o.interrupts.add(one.Name, one.Ns, one.Count)
	}
	for i, class := range ownClasses {
		p.time[class].add(t.time[i].ns, t.time[i].count)
		o.time[class].add(t.time[i].ns, t.time[i].count)
	}
	work := o.c.forWork(t)
	for i := range t.waits {
		w := &t.waits[i]
		o.addWait(p, t, w, work.Has(w.at.node, w.result))
	}
	o.countShort(t)
}

// waitKey identifies what is added up in the table of waits.
type waitKey struct {
	class        waits.Class
	forWork      bool
	object, name uint32
	pid          int32
	site, caller uint32
}

func compareWaits(a, b waitKey) int {
	return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.class, b.class), cmp.Compare(a.object, b.object), cmp.Compare(a.site, b.site), cmp.Compare(a.caller, b.caller), cmp.Compare(a.name, b.name))
}

// addWait adds a wait of a thread to its process and to the tables.
func (o *totals) addWait(p *process, t *thread, w *waitSum, forWork bool) {
	class := int(w.result.Class)
	if forWork {
		class = classIdle
	}
	p.time[class].add(w.sum.ns, w.sum.count)
	o.time[class].add(w.sum.ns, w.sum.count)
	key := waitKey{class: w.result.Class, forWork: forWork, object: w.object, pid: p.pid, name: p.name, site: w.at.site, caller: w.at.caller}
	length := w.longest.to - w.longest.from
	into := o.waits.at(key)
	into.add(w.sum.ns, w.sum.count, length)
	for _, by := range w.wakers {
		into.by.add(by.Name, by.Ns, by.Count)
	}
	if forWork {
		return
	}
	if w.result.Class == waits.Timer {
		p.timers.add(w.sum.ns, w.sum.count, length)
		p.timers.by.add(o.c.calls.nameOf(w.at.site), w.sum.ns, w.sum.count)
	}
	o.longest.add(longWait{interval: w.longest, thread: t.who, site: w.at.site}, o.c.o.Limit)
	o.notePeer(p, w, length)
}

// notePeer adds what a thread waited for, and who ended its waits, where findings name these.
func (o *totals) notePeer(p *process, w *waitSum, longest int64) {
	room := w.result.Idle == waits.Never && (w.result.Class == waits.Condition || w.result.Class == waits.Pipe) || w.result.Class == waits.Send
	if room {
		p.room.add(w.sum.ns, w.sum.count, longest)
		for _, by := range w.wakers {
			p.room.by.add(by.Name, by.Ns, by.Count)
		}
		return
	}
	if p.peers == nil {
		p.peers = make(map[waits.Class]*sum)
	}
	s := p.peers[w.result.Class]
	if s == nil {
		s = new(sum)
		p.peers[w.result.Class] = s
	}
	s.add(w.sum.ns, w.sum.count, longest)
	s.by.add(o.c.names.text[w.object], w.sum.ns, w.sum.count)
}

// shortLived are the processes of one name that lived for less than shortLife within the window.
type shortLived struct {
	comm   uint32
	parent int32
	count  int
	cpu    int64
	life   int64
}

const (
	shortLife = int64(200e6)
	maxShorts = 1 << 12
)

// countShort counts a process that has ended, by its first thread.
func (o *totals) countShort(t *thread) {
	if !t.isNew || t.who.tid != t.who.pid || t.of.Status != timeline.Dead {
		return
	}
	life := t.lastTo - t.of.Start
	if life > shortLife {
		return
	}
	name := o.c.names.text[t.who.processComm]
	s := o.shorts[name]
	if s == nil {
		if len(o.shorts) >= maxShorts {
			return
		}
		if o.shorts == nil {
			o.shorts = make(map[string]*shortLived)
		}
		s = &shortLived{comm: t.who.processComm}
		o.shorts[name] = s
	}
	s.count++
	s.parent = t.who.ppid
	s.life += life
	s.cpu += t.in(classOnCPU).ns
}
