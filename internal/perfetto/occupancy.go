package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// occupancy follows from the events which thread has each CPU. The slices of the thread view do not show that: they join short times.
type occupancy struct {
	cpus []occupant // by number
	ran  func(cpu uint32, one occupant, to int64)
}

// occupant is the thread on a CPU.
type occupant struct {
	task    *tracks.Task // nil: idle, hidden or not known
	since   int64
	counted int64 // up to where its time is counted for its container
}

// event takes the next event. Late ones change nothing.
func (o *occupancy) event(v *tracks.Event) {
	switch {
	case v.Flags&format.FlagLate != 0:
	case v.Kind == format.KindSwitch:
		o.rename(v)
		o.takes(v.CPU, v.Other, v.Flags&format.FlagObject != 0, v.Time)
	case v.Kind == format.KindStateCPU:
		if v.Flags&format.FlagOpen == 0 {
			o.takes(v.CPU, v.Task, v.Flags&format.FlagSubject != 0, v.Time)
		}
	case v.Kind == format.KindCPULeft:
		o.leave(v.CPU, v.Time)
	case v.Kind == format.KindLost:
		if timeline.LosesState(v.Event) {
			o.leave(v.CPU, min(v.Lost().From(), v.Time))
		}
	case v.Kind == format.KindExec || v.Kind == format.KindRename:
		o.rename(v)
	}
}

// rename takes over the latest definition of the thread on a CPU, which may be in another cgroup.
func (o *occupancy) rename(v *tracks.Event) {
	if uint64(v.CPU) >= uint64(len(o.cpus)) || v.Task == nil {
		return
	}
	if one := &o.cpus[v.CPU]; one.task != nil && one.task != v.Task && one.task.IsSame(v.Task) {
		one.task = v.Task
	}
}

// on returns the thread on a CPU, without a task if none is known.
func (o *occupancy) on(cpu uint32) occupant {
	if uint64(cpu) < uint64(len(o.cpus)) {
		return o.cpus[cpu]
	}
	return occupant{}
}

// sinceByProcess returns since when each process that is on CPUs has been on one of them without a break.
func (o *occupancy) sinceByProcess() map[int32]int64 {
	since := make(map[int32]int64, len(o.cpus))
	for i := range o.cpus {
		one := &o.cpus[i]
		if one.task == nil {
			continue
		}
		if first, found := since[one.task.Def.Pid]; !found || one.since < first {
			since[one.task.Def.Pid] = one.since
		}
	}
	return since
}

// takes gives a CPU to a thread.
func (o *occupancy) takes(cpu uint32, of *tracks.Task, isKnown bool, at int64) {
	if cpu >= maxCPUs {
		return
	}
	for len(o.cpus) <= int(cpu) {
		o.cpus = append(o.cpus, occupant{})
	}
	o.leave(cpu, at)
	if isKnown && of != nil && of.IsThread() {
		o.cpus[cpu] = occupant{of, at, at}
	}
}

// leave ends the time of the thread on a CPU, or of those on all CPUs.
func (o *occupancy) leave(cpu uint32, at int64) {
	for i := range o.cpus {
		if cpu != format.AllCPUs && cpu != uint32(i) {
			continue
		}
		if one := o.cpus[i]; one.task != nil && at > one.since {
			o.ran(uint32(i), one, at)
		}
		o.cpus[i] = occupant{}
	}
}

// count counts the time of all threads on CPUs up to a time.
func (o *occupancy) count(w *view, at int64) {
	for i := range o.cpus {
		o.cpus[i].count(w, at)
	}
}

// skip leaves out of the count the time up to a time.
func (o *occupancy) skip(to int64) {
	for i := range o.cpus {
		o.cpus[i].counted = max(o.cpus[i].counted, to)
	}
}

func (o *occupant) count(w *view, at int64) {
	if o.task != nil && at > o.counted {
		w.loads.add(w, o.task, at-o.counted)
		o.counted = at
	}
}

// ranOn is called when a thread leaves a CPU.
func (w *view) ranOn(cpu uint32, one occupant, to int64) {
	if w.on.drawsContainers() {
		one.count(w, to)
	}
	if w.on.Cores {
		w.drawOnCore(cpu, one.task, one.since, to)
	}
}

// occupies follows an event in the tracks of cores and containers.
func (w *view) occupies(v *tracks.Event) {
	if !w.on.occupancy() {
		return
	}
	if w.on.drawsContainers() && v.Flags&format.FlagLate == 0 {
		w.loads.reach(w, v.Time)
	}
	drawsRates := w.on.drawsRates() && len(w.rates.names) > 0
	if drawsRates {
		w.countRun(v)
	}
	w.occupancy.event(v)
	if drawsRates {
		w.reachRates(v.Time)
	}
}

// endOccupancy ends what is drawn of CPUs at the close of a window.
func (w *view) endOccupancy() {
	w.occupancy.leave(format.AllCPUs, w.now)
	if w.on.drawsContainers() {
		w.loads.close(w)
	}
	if w.on.drawsRates() {
		w.closeRates()
	}
}

// threadLabel is a thread's name and id.
func threadLabel(of *tracks.Task) string {
	return shownText(string(of.Def.Comm)) + " " + strconv.Itoa(int(of.Def.Tid))
}
