package firefox

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"wprof/internal/bounded"
	"wprof/internal/records"
	"wprof/internal/spill"
	"wprof/internal/tracks"
)

// usualLive is the number of threads that are always kept in memory. Beyond it, threads that were idle since the last sweep are kept
// in the store; one that has further events then is in the profile twice.
const usualLive = 1 << 14

// threads holds the threads of the profile.
type threads struct {
	live    map[threadKey]*thread
	most    int
	sweepAt int
	sweeps  int
	done    table // those that were moved to the store
	tids    *bounded.Map[int32, int]
}

// threadKey identifies a thread. CPUs and the recording have negative tids.
type threadKey struct {
	tid   int32
	start int64
}

const (
	recordingTID = -1
	cpuTID       = -2 // and down, one for each CPU
	maxCPUs      = 1 << 16
)

// thread is a thread of the profile.
type thread struct {
	key           threadKey
	pid, tid      string
	name, process string
	isMain        bool
	named         *tracks.Task // the task with its current name
	begin, end    int64        // when it was made, and when it ended, ns from first; none: not in the window
	used          int          // number of the last sweep before its last use
	stored        bool         // it was moved to the store
	index         int          // in the profile; none: not written

	samples, markers table
	last             int64     // time of the last sample, ns from first
	until            int64     // end of its known time, ns from first
	isOpen           bool      // the last sample has not ended
	pending          []pending // samples of the time on the CPU that has not ended
	wait             wait
}

// pending is a sample of a time on the CPU that has not ended.
type pending struct {
	at   int64
	node int32
}

// named holds the strings of a task.
type named struct {
	label  int32 // string: name and tid
	thread *thread
}

func newThreads(p *profile) threads {
	return threads{live: make(map[threadKey]*thread), most: usualLive, sweepAt: usualLive, done: p.table(), tids: bounded.NewMap[int32, int](usualLive)}
}

func (p *profile) namedOf(k *tracks.Task) *named {
	n, ok := k.Own.(*named)
	if !ok {
		label := p.comm(k)
		if !k.Idle {
			label += " " + strconv.Itoa(int(k.Def.Tid))
		}
		n = &named{label: p.shared.string(label)}
		k.Own = n
	}
	return n
}

// label returns the string of a thread's name and tid.
func (p *profile) label(k *tracks.Task) int32 { return p.namedOf(k).label }

func (p *profile) comm(k *tracks.Task) string {
	if k.Idle {
		return "idle"
	}
	return p.texts.Name(k.Def.Comm)
}

// thread returns the thread of a task, under its name; of the idle task, that of a CPU.
func (p *profile) thread(k *tracks.Task, cpu uint32) *thread {
	if k.Idle {
		return p.cpu(cpu)
	}
	n := p.namedOf(k)
	if n.thread == nil || n.thread.stored {
		n.thread = p.find(threadKey{k.Def.Tid, k.Def.Start})
	}
	t := n.thread
	t.used = p.threads.sweeps
	if t.named != k {
		p.introduce(t, k)
	}
	return t
}

func (p *profile) find(key threadKey) *thread {
	t := p.threads.live[key]
	if t == nil {
		t = &thread{key: key, index: none, begin: none, end: none, samples: p.table(), markers: p.table(), last: none}
		p.threads.live[key] = t
	}
	return t
}

// introduce names a thread after a task.
func (p *profile) introduce(t *thread, k *tracks.Task) {
	if t.named == nil {
		t.tid = strconv.Itoa(int(k.Def.Tid))
		before, _ := p.threads.tids.Get(k.Def.Tid)
		p.threads.tids.Put(k.Def.Tid, before+1)
		if before > 0 { // the user interface requires different ones
			t.tid += "." + strconv.Itoa(before)
		}
		if begin := k.Def.Start - p.first; begin > 0 && k.Def.Start != 0 {
			t.begin = begin
		}
	}
	t.named, t.name = k, p.comm(k)
	t.pid, t.isMain = strconv.Itoa(int(k.Def.Pid)), k.Def.Pid == k.Def.Tid
	if k.Def.Pid == 0 {
		t.pid, t.process = "unknown", records.Unknown
		return
	}
	t.process = p.texts.Name(k.Def.ProcessComm)
	if k.Command != nil {
		if first, _, _ := bytes.Cut(k.Command.Args, []byte{0}); len(first) > 0 {
			t.process = p.texts.Clip(first)
		}
	}
	if in := k.In.Label(); in != "" {
		t.process += " (" + in + ")"
	}
}

// cpu returns the thread of the profile for a CPU, or for all of them.
func (p *profile) cpu(n uint32) *thread {
	if n >= maxCPUs {
		return p.recording()
	}
	t := p.find(threadKey{tid: cpuTID - int32(n)})
	t.used = p.threads.sweeps
	t.name, t.process, t.pid, t.tid = "CPU "+strconv.Itoa(int(n)), "CPUs", "CPUs", "CPU "+strconv.Itoa(int(n))
	return t
}

// recording returns the thread of the profile for the recording itself.
func (p *profile) recording() *thread {
	t := p.find(threadKey{tid: recordingTID})
	t.used = p.threads.sweeps
	t.name, t.process, t.pid, t.tid, t.isMain = "Recording", "Recording", "Recording", "Recording", true
	return t
}

// sweep moves threads to the store that have done nothing since the last sweep.
func (p *profile) sweep() {
	for _, t := range p.sorted() {
		if t.used < p.threads.sweeps && !t.wait.has && len(t.pending) == 0 {
			t.endSample(p)
			p.retire(t)
			delete(p.threads.live, t.key)
		}
	}
	p.threads.sweeps++
	p.threads.sweepAt = max(p.threads.most, 2*len(p.threads.live))
}

func (p *profile) retire(t *thread) {
	t.stored, t.index = true, p.threads.done.rows
	var refs [2]spill.Ref
	for i, of := range []*table{&t.samples, &t.markers} {
		ref, err := of.chain.Detach()
		if err != nil && p.failed == nil {
			p.failed = err
		}
		refs[i] = ref
	}
	p.threads.done.addText(p, t.head(nil), refs[0].Offset, int64(refs[0].Length), int64(t.samples.rows), refs[1].Offset, int64(refs[1].Length), int64(t.markers.rows))
	t.samples.chain, t.markers.chain = nil, nil
}

// sorted returns the threads in memory by process.
func (p *profile) sorted() []*thread {
	all := make([]*thread, 0, len(p.threads.live))
	for _, t := range p.threads.live {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *thread) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.key.tid, b.key.tid), cmp.Compare(a.key.start, b.key.start))
	})
	return all
}

// head appends the members of a thread before its tables.
func (t *thread) head(b []byte) []byte {
	b = append(b, `"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":`...)
	b = append(appendMillis(b, max(t.begin, 0)), `,"unregisterTime":`...)
	if t.end == none {
		b = append(b, "null"...)
	} else {
		b = appendMillis(b, t.end)
	}
	b = records.AppendString(append(b, `,"pausedRanges":[],"showMarkersInTimeline":true,"name":`...), t.name)
	b = strconv.AppendBool(append(b, `,"isMainThread":`...), t.isMain)
	b = records.AppendString(append(b, `,"processName":`...), t.process)
	b = records.AppendString(append(b, `,"pid":`...), t.pid)
	return records.AppendString(append(b, `,"tid":`...), t.tid)
}
