package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/waits"
)

// Kinds of findings.
const (
	cpuStarved     = "cpu-starved"
	oneLock        = "one-lock"
	deadlock       = "deadlock"
	singleThreaded = "single-threaded"
	sleeping       = "sleeping-by-timer"
	waitingForPeer = "waiting-for-peer"
	diskBound      = "disk-bound"
	fullQueue      = "full-queue"
	pageFaults     = "page-faults"
	manyWakeups    = "too-many-wakeups"
	migrations     = "migrations"
	shortProcesses = "short-lived-processes"
	interruptStorm = "interrupt-storm"
	noQuota        = "cgroup-throttled"
	packetDrops    = "packet-drops"
	slowDisk       = "slow-disk"
	majorFaults    = "major-faults"
	oomKill        = "oom-kill"
)

// What weights are shares of.
const (
	ofWork    = "work"
	ofPackets = "packets"
	ofNothing = "" // the weight is 1: it matters whatever time it took
)

// Least shares and rates of what makes a finding.
const (
	leastOfWindow = 0.05 // the time that it is about, of the window
	leastOfWork   = 0.20 // of the time in which the process did not wait for work
	leastOfCPU    = 0.20 // of what its on-CPU time and delays add up to, of samples
	leastOfOneCPU = 0.30 // interrupts of a CPU, of the window
	leastBusy     = 0.70 // of the window: a thread that is always on the CPU
	leastRate     = 2000 // wakeups or migrations a second
	leastShort    = 20   // short-lived processes a second
)

// findings returns the findings in order of weight.
func (o *totals) findings(r *Report) []Finding {
	f := finder{c: o.c, of: o, report: r}
	f.delays = f.delaysOf()
	f.rings()
	f.locks()
	for _, p := range o.sortedProcesses() {
		f.process(p)
	}
	f.joinStarved()
	f.interruptedCPUs()
	f.throttled()
	f.drops()
	f.oomKills()
	f.disks()
	f.shortLived()
	slices.SortStableFunc(f.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Summary, b.Summary))
	})
	few := []Finding{}
	kinds := make(map[string]int)
	for _, one := range f.found {
		if kinds[one.Kind]++; kinds[one.Kind] <= maxOfKind && len(few) < o.c.o.Limit {
			few = append(few, one)
		}
	}
	return few
}

// maxOfKind is the number of findings of one kind that are kept: further processes with the same trouble hide other trouble.
const maxOfKind = 3

// finder makes the findings.
type finder struct {
	c      *Collector
	of     *totals
	report *Report
	found  []Finding
	delays map[int32]*parts // of each process, by the process that ran
	// starvedNs are the delays and on-CPU times of the processes of which there is a finding that they wait for a CPU.
	starvedNs [][2]int64
}

func (o *totals) sortedProcesses() []*process {
	return slices.SortedFunc(maps.Values(o.processes), func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
}

// isWork reports whether time of a class is work, as far as it is known.
func isWork(class int) bool {
	return class != classIdle && class != classLost && class != int(waits.Unknown)
}

// work is the time in which the threads of a process did not wait for work.
func (p *process) work() (ns int64) {
	for class, one := range p.time {
		if isWork(class) {
			ns += one.ns
		}
	}
	return ns
}

// matters reports whether a time is a large enough part of the window and of a process's work.
func (f *finder) matters(ns, work int64) bool {
	return Share(ns, f.report.WindowNs) >= leastOfWindow && Share(ns, work) >= leastOfWork
}

// add adds a finding about a time of a process.
func (f *finder) add(kind string, weight float64, pid int32, name uint32, command, summary string, args ...any) {
	f.addOf(ofWork, kind, weight, pid, name, command, summary, args...)
}

// addOf adds a finding whose weight is a share of something.
func (f *finder) addOf(what, kind string, weight float64, pid int32, name uint32, command, summary string, args ...any) {
	if math.IsNaN(weight) {
		weight = 0
	}
	f.found = append(f.found, Finding{
		Kind: kind, Weight: math.Round(1000*min(1, weight)) / 1000, WeightOf: what, Process: f.c.names.text[name], PID: pid,
		Summary: fmt.Sprintf(summary, args...), Command: command + " " + cmp.Or(f.c.o.Source, "FILE"),
	})
}

// weight is a time as a share of the work of all threads.
func (f *finder) weight(ns int64) float64 { return Share(ns, f.report.WorkNs) }

// nameOf names a process.
func (f *finder) nameOf(pid int32, name uint32) string { return f.c.nameOf(pid, name) }

func (c *Collector) nameOf(pid int32, name uint32) string {
	return fmt.Sprintf("%s (pid %d)", c.names.text[name], pid)
}

// rings adds the deadlocks: nothing that threads of a ring wait for can happen.
func (f *finder) rings() {
	for _, r := range f.of.rings {
		var links []string
		since := r.members[0].from
		for _, m := range r.members {
			name := "?"
			if m.lock != nil {
				name = f.c.lockName(m.lock)
			}
			next := r.members[0].waiter.who
			for _, other := range r.members {
				if other.waiter.who.tid == m.owner {
					next = other.waiter.who
				}
			}
			links = append(links, fmt.Sprintf("%s waits in %s for lock %s, which %s has", f.c.names.thread(m.waiter.who), cmp.Or(f.c.calls.nameOf(m.site), "?"), name, f.c.names.thread(next)))
			since = max(since, m.from)
		}
		f.addOf(ofNothing, deadlock, 1, r.pid, r.process, fmt.Sprintf("wprof-flame --off-cpu --by thread -p %d", r.pid), "%s: %s, since %s: %s",
			f.nameOf(r.pid, r.process), ringText(len(r.members)), f.at(since), strings.Join(links, "; "))
	}
}

func ringText(threads int) string {
	if threads == 1 {
		return "a thread waits for a lock that it has itself"
	}
	return fmt.Sprintf("%d threads wait for each other", threads)
}

// at is a time after the opening of the window.
func (f *finder) at(ns int64) string {
	if after := ns - f.c.r.FirstOpen(); after > 0 {
		return fmt.Sprintf("%s after the opening of the window", short(after))
	}
	return "before the window opened"
}

// locks adds the locks for which threads wait much.
func (f *finder) locks() {
	for _, l := range f.of.sortedLocks() {
		p := f.of.processes[l.pid]
		work := f.report.WorkNs
		if p != nil {
			work = p.work()
		}
		if l.isRing || !f.matters(l.waits.Ns, work) {
			continue
		}
		who, process := f.nameOf(l.pid, l.process), l.process
		if l.pid == 0 {
			who, process = "several processes", 0
		}
		what := "lock " + f.c.lockName(l.of)
		if l.of.semaphore != nil {
			what = "semaphore " + f.c.lockName(l.of)
		}
		if l.of.isGIL {
			what = "Python's global lock (GIL)"
		}
		if l.of.kernel {
			what = "a kernel lock in " + f.c.lockName(l.of)
		}
		text := fmt.Sprintf("%s: %s of waits for %s, %s of the time at work: %d waits of %s, longest %s", who, short(l.waits.Ns), what,
			percent(l.waits.Ns, work), l.waits.Count, threadCount(len(l.waiters)), short(l.longest))
		if top := l.sites.top(); top.Name != "" {
			text += ", mostly in " + top.Name
		}
		if top := l.owners.without(unknownOwners).top(); 2*top.Ns >= l.waits.Ns {
			text += fmt.Sprintf("; mostly behind %s (%s of that time)", top.Name, percent(top.Ns, l.waits.Ns))
		}
		did := l.ownerTime.sorted(maxListed)
		did = slices.DeleteFunc(did, func(one Part) bool { return 10*one.Ns < l.waits.Ns })
		if meanwhile := listed(did, l.waits.Ns); meanwhile != "" {
			text += "; owners meanwhile: " + meanwhile
		}
		if chain := f.of.chainOf(l); chain != "" {
			text += "; chain: " + chain
		}
		f.add(oneLock, f.weight(l.waits.Ns), l.pid, process, f.flame(l.pid, "--off-cpu"), "%s", text)
	}
}

// threadCount is a number of threads of which only the first few are counted.
func threadCount(n int) string {
	switch {
	case n >= maxParts:
		return fmt.Sprintf("%d or more threads", n)
	case n == 1:
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// flame is the command that shows a process in a flame graph.
func (f *finder) flame(pid int32, flags string) string {
	if pid == 0 {
		return "wprof-flame " + flags
	}
	return fmt.Sprintf("wprof-flame %s -p %d", flags, pid)
}

// process adds what holds up one process.
func (f *finder) process(p *process) {
	f.starved(p)
	f.single(p)
	f.timers(p)
	f.peers(p)
	f.disk(p)
	f.queue(p)
	f.faults(p)
	f.major(p)
	f.wakeups(p)
	f.migrations(p)
	f.interrupts(p)
}

func (f *finder) starved(p *process) {
	delay := p.time[waits.Runnable].ns + p.time[waits.Preempted].ns - p.latency
	if !f.matters(delay, p.work()) || Share(delay, delay+p.time[classOnCPU].ns) < leastOfCPU {
		return
	}
	text := fmt.Sprintf("%s waited %s for a CPU and ran %s: %s of the time in which it could run", f.nameOf(p.pid, p.name), short(delay), short(p.time[classOnCPU].ns),
		percent(delay, delay+p.time[classOnCPU].ns))
	text += f.delayedBy(p.pid, delay)
	if busy := f.busyCPUs(); busy != "" {
		text += "; " + busy
	}
	f.add(cpuStarved, f.weight(delay), p.pid, p.name, f.flame(p.pid, "--state"), "%s", text)
	f.starvedNs = append(f.starvedNs, [2]int64{delay, p.time[classOnCPU].ns})
}

// manyStarved is the number of processes that wait for a CPU from which on they are one finding, about the machine.
const manyStarved = 4

// joinStarved makes one finding of those about many processes that wait for a CPU; names has those with the most weight.
func (f *finder) joinStarved() {
	if len(f.starvedNs) < manyStarved {
		return
	}
	delay, ran, names := int64(0), int64(0), parts{}
	for _, one := range f.starvedNs {
		delay, ran = format.Sum(delay, one[0]), format.Sum(ran, one[1])
	}
	f.found = slices.DeleteFunc(f.found, func(one Finding) bool {
		if one.Kind == cpuStarved {
			names.add(fmt.Sprintf("%s (pid %d)", one.Process, one.PID), int64(1000*one.Weight), 1)
		}
		return one.Kind == cpuStarved
	})
	text := fmt.Sprintf("%d processes waited %s for a CPU and ran %s: %s of the time in which they could run; most of all %s", len(f.starvedNs), short(delay), short(ran),
		percent(delay, format.Sum(delay, ran)), names.top().Name)
	if busy := f.busyCPUs(); busy != "" {
		text += "; " + busy
	}
	f.add(cpuStarved, f.weight(delay), 0, 0, "wprof-flame --state --by comm", "%s", text)
}

// delaysOf adds up the delays of each process by the process that ran.
func (f *finder) delaysOf() map[int32]*parts {
	all := make(map[int32]*parts)
	for _, key := range f.of.delays.sorted(compareDelays) {
		if key.by == 0 {
			continue
		}
		name := f.nameOf(key.by, key.byName)
		if key.by == key.of {
			name = "its own threads"
		}
		if all[key.of] == nil {
			all[key.of] = new(parts)
		}
		s := f.of.delays.all[key]
		all[key.of].add(name, s.Ns, s.Count)
	}
	return all
}

// delayedBy names the process behind which one waited for a CPU for a large part of its delays; "": there is none.
func (f *finder) delayedBy(pid int32, delay int64) string {
	by := f.delays[pid]
	if by == nil {
		return ""
	}
	top := by.top()
	if 10*top.Ns < delay {
		return ""
	}
	return fmt.Sprintf(", %s of it behind %s", percent(min(top.Ns, delay), delay), top.Name)
}

// busyCPUs says how busy the CPUs were; "": idle ones do not show.
func (f *finder) busyCPUs() string {
	all := f.report.WindowNs * int64(f.report.CPUs)
	if f.c.idleCPU == 0 || all <= 0 {
		return ""
	}
	return fmt.Sprintf("the %d CPUs were %s busy", f.report.CPUs, percent(max(0, all-f.c.idleCPU), all))
}

func (f *finder) single(p *process) {
	cpu := p.time[classOnCPU].ns
	if p.threads != 1 && Share(p.busiest, cpu) < 0.9 || Share(p.demand, f.report.WindowNs) < leastBusy || f.report.CPUs < 2 {
		return
	}
	// What has a finding of its own does not count: other CPUs would not take that over.
	left := p.busiest - max(p.partInFaults(), p.shortRuns, p.movedRuns)
	if !f.matters(left, p.work()) {
		return
	}
	idle := f.c.idleCPU // 0 also where the recorder left idle CPUs out
	if idle > 0 && Share(idle, f.report.WindowNs) < 0.25 {
		return
	}
	text := fmt.Sprintf("%s keeps one CPU of %d busy: its thread %s ran or waited for a CPU for %s of the window, and had %s of the process's on-CPU time", f.nameOf(p.pid, p.name), f.report.CPUs,
		p.busiestThread, percent(p.demand, f.report.WindowNs), percent(p.busiest, cpu))
	if idle > 0 {
		text += fmt.Sprintf("; idle time of all CPUs: %s", short(idle))
	}
	f.add(singleThreaded, f.weight(left), p.pid, p.name, f.flame(p.pid, "--on-cpu --by thread"), "%s", text)
}

// timers adds sleeps that are not the usual wait for work of their threads.
func (f *finder) timers(p *process) {
	ns := p.time[waits.Timer].ns
	if !f.matters(ns, p.work()) {
		return
	}
	where := p.timers.by.top()
	f.add(sleeping, f.weight(ns), p.pid, p.name, f.flame(p.pid, "--off-cpu"), "%s slept for %s in all, %d times, on average for %s; mostly in %s", f.nameOf(p.pid, p.name),
		short(p.timers.Ns), p.timers.Count, short(p.timers.Ns/int64(max(1, p.timers.Count))), cmp.Or(where.Name, "a place without a stack"))
}

func (f *finder) peers(p *process) {
	var all sum
	for _, class := range []waits.Class{waits.Receive, waits.Connect} {
		if s := p.peers[class]; s != nil {
			all.merge(s)
		}
	}
	if !f.matters(all.Ns, p.work()) {
		return
	}
	peer := all.by.top()
	text := fmt.Sprintf("%s waited %s for peers, %d times, longest %s", f.nameOf(p.pid, p.name), short(all.Ns), all.Count, short(all.longest))
	if peer.Name != "" {
		text += fmt.Sprintf("; %s of it for %s", percent(peer.Ns, all.Ns), peer.Name)
	}
	f.add(waitingForPeer, f.weight(all.Ns), p.pid, p.name, f.flame(p.pid, "--off-cpu"), "%s", text)
}

func (f *finder) disk(p *process) {
	var all sum
	kind := parts{}
	for _, class := range waits.DiskClasses() {
		if s := p.peers[class]; s != nil {
			all.merge(s)
			kind.add(class.String(), s.Ns, s.Count)
		}
	}
	if f.majorFaults(p) {
		all.Ns -= f.shortFaults(p)
	}
	if !f.matters(all.Ns, p.work()) {
		return
	}
	text := fmt.Sprintf("%s waited %s for file systems and disks, %d times, longest %s; %s of it is %s", f.nameOf(p.pid, p.name), short(all.Ns), all.Count, short(all.longest),
		percent(kind.top().Ns, all.Ns), kind.top().Name)
	if file := all.by.top(); file.Name != "" {
		text += fmt.Sprintf("; %s of it for %s", percent(file.Ns, all.Ns), file.Name)
	}
	f.add(diskBound, f.weight(all.Ns), p.pid, p.name, f.flame(p.pid, "--off-cpu"), "%s", text)
}

func (f *finder) queue(p *process) {
	if !f.matters(p.room.Ns, p.work()) {
		return
	}
	text := fmt.Sprintf("%s waited %s for room in a queue, pipe or socket, %d times, longest %s", f.nameOf(p.pid, p.name), short(p.room.Ns), p.room.Count, short(p.room.longest))
	if unknown := p.time[waits.Unknown].ns; unknown > p.room.Ns {
		text += fmt.Sprintf("; what it waited for in another %s is unknown", short(unknown))
	}
	if consumer := p.room.by.top(); consumer.Name != "" && !isInterrupt(consumer.Name) {
		text += fmt.Sprintf("; %s made room for %s of it", consumer.Name, percent(consumer.Ns, p.room.Ns))
	}
	f.add(fullQueue, f.weight(p.room.Ns), p.pid, p.name, f.flame(p.pid, "--waker"), "%s", text)
}

// partInFaults is the on-CPU time in page faults, by samples.
func (p *process) partInFaults() int64 {
	return int64(Share(p.faults, p.samples) * float64(p.time[classOnCPU].ns))
}

// faults adds page faults: those that wait, and those that cost time on the CPU, by samples.
func (f *finder) faults(p *process) {
	onCPU := p.partInFaults()
	waited := p.time[waits.PageFault].ns
	if f.majorFaults(p) {
		waited = 0 // has a finding of its own
	}
	if !f.matters(onCPU+waited, p.work()) {
		return
	}
	text := fmt.Sprintf("%s spent about %s of its on-CPU time in page faults (%d of %d samples)", f.nameOf(p.pid, p.name), percent(onCPU, p.time[classOnCPU].ns), p.faults, p.samples)
	if waited > 0 {
		text += fmt.Sprintf(", and waited %s for pages", short(waited))
	}
	f.add(pageFaults, f.weight(onCPU+waited), p.pid, p.name, f.flame(p.pid, "--kernel-frames"), "%s", text)
}

// shortFaults is the time of waits for major page faults that are too short to be known as such: with one major fault for each short wait for I/O.
func (f *finder) shortFaults(p *process) int64 {
	faults, disk := f.c.sources.faulted[p.pid], p.time[waits.Disk]
	return int64(min(1, Share(faults, disk.count)) * float64(disk.ns))
}

// majorFaults reports whether a process waits much for pages.
func (f *finder) majorFaults(p *process) bool {
	waited := p.time[waits.PageFault].ns + f.shortFaults(p)
	return f.matters(waited, p.work())
}

// major adds page faults that wait for pages to be read.
func (f *finder) major(p *process) {
	if !f.majorFaults(p) {
		return
	}
	waited := p.time[waits.PageFault].ns + f.shortFaults(p)
	text := fmt.Sprintf("%s waited %s for pages of memory to be read, %s of its time at work", f.nameOf(p.pid, p.name), short(waited), percent(waited, p.work()))
	if faults := f.c.sources.faulted[p.pid]; faults == 0 {
		text += "; wprof-record -f fault shows of which files"
	} else {
		files := f.c.sources.files(p.pid, &f.c.names)
		text += fmt.Sprintf("; %.0f major page faults a second: %s", perSecond(faults, f.report.WindowNs), listed(files.sorted(maxListed), int64(faults)))
	}
	f.add(majorFaults, f.weight(waited), p.pid, p.name, f.flame(p.pid, "--off-cpu"), "%s", text)
}

func (f *finder) wakeups(p *process) {
	rate := perSecond(p.runs, f.report.WindowNs)
	if rate < leastRate || !f.matters(p.shortRuns, p.time[classOnCPU].ns) {
		return
	}
	f.add(manyWakeups, f.weight(p.shortRuns+p.latency), p.pid, p.name, f.flame(p.pid, "--waker"), "%s began to run %.0f times a second, on average for %s: %s of its on-CPU time is in runs shorter than %s",
		f.nameOf(p.pid, p.name), rate, short(p.time[classOnCPU].ns/int64(max(1, p.runs))), percent(p.shortRuns, p.time[classOnCPU].ns), short(shortRun))
}

func (f *finder) migrations(p *process) {
	rate := perSecond(p.moved, f.report.WindowNs)
	if rate < leastRate/4 || Share(p.moved, p.runs) < 0.25 || !f.matters(p.movedRuns, p.time[classOnCPU].ns) {
		return
	}
	f.add(migrations, f.weight(p.movedRuns), p.pid, p.name, fmt.Sprintf("wprof-perfetto -p %d", p.pid), "%s moved to another CPU %.0f times a second: at %s of the %d times that it began to run",
		f.nameOf(p.pid, p.name), rate, percent(int64(p.moved), int64(p.runs)), p.runs)
}

// shortLived adds programs that were started very often.
func (f *finder) shortLived() {
	var all shortLived
	names, parents := parts{}, parts{}
	for _, s := range f.of.shorts {
		all.count, all.cpu, all.life = all.count+s.count, all.cpu+s.cpu, all.life+s.life
		names.add(f.c.names.text[s.comm], s.cpu, uint64(s.count))
		if p := f.of.processes[s.parent]; p != nil {
			parents.add(f.nameOf(p.pid, p.name), s.cpu, uint64(s.count))
		}
	}
	if perSecond(uint64(all.count), f.report.WindowNs) < leastShort || !f.matters(all.life, f.report.WorkNs) {
		return
	}
	text := fmt.Sprintf("%d processes lived for less than %s: %.0f a second, %s on the CPU in all", all.count, short(shortLife), perSecond(uint64(all.count), f.report.WindowNs), short(all.cpu))
	if top := names.top(); top.Name != "" {
		text += fmt.Sprintf("; %d of them are %s", top.Count, top.Name)
	}
	if top := parents.top(); top.Name != "" {
		text += ", started by " + top.Name
	}
	f.add(shortProcesses, f.weight(all.life), 0, 0, "wprof-flame --by comm", "%s", text)
}

func perSecond(n uint64, window int64) float64 {
	if window <= 0 {
		return 0
	}
	return float64(n) / (float64(window) / 1e9)
}

func percent(ns, of int64) string { return fmt.Sprintf("%.0f%%", 100*Share(ns, of)) }

// short writes a time in a few characters: 1.23 s, 45.1 ms, 7 us.
func short(ns int64) string {
	switch {
	case ns >= int64(time.Second):
		return fmt.Sprintf("%.2f s", float64(ns)/1e9)
	case ns >= int64(time.Millisecond):
		return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.0f us", float64(ns)/1e3)
}
