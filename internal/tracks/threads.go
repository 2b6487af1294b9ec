package tracks

import (
	"slices"

	"wprof/format"
	"wprof/internal/timeline"
)

// maxRows bounds the rows that are kept.
const maxRows = 1 << 15

// row is the track of a tid. Viewers have one for all threads that a damaged stream has under one tid at the same time: of those the
// first is drawn.
type row struct {
	until int64 // end of the last slice, CLOCK_MONOTONIC ns
}

// threadState is the drawing state of a thread.
type threadState struct {
	*row
	task *Task // its latest one
	// Origins of the arrows to the slice with which it comes back on a CPU: rewoken is of a waking that may count instead of
	// the first one, early of one while it ran, which may count for the slice after this one.
	woken, rewoken, early, preempted origin

	runs     *joinedRuns // not drawn yet; nil: none
	isListed bool        // in Drawer.joining
}

// stateOf returns the drawing state of a thread.
func (d *Drawer) stateOf(t *timeline.Thread) *threadState {
	if l, ok := t.Own.(*threadState); ok {
		return l
	}
	r, found := d.rows.Get(t.TID)
	if !found || t.Idle() {
		r = &row{until: d.opened}
	}
	if !t.Idle() {
		d.rows.Put(t.TID, r)
	}
	l := &threadState{row: r}
	t.Own = l
	return l
}

// taskOf returns the task of a span; nil: not known.
func (d *Drawer) taskOf(s *timeline.Span, l *threadState) *Task {
	if s.Task != 0 {
		l.task = d.task(s.Task)
	} else if l.task == nil && !s.Thread.Def.IsLost() {
		l.task = d.describe(s.Thread.Def)
	}
	return l.task
}

// span draws a span that has ended.
func (d *Drawer) span(s *timeline.Span) {
	l := d.stateOf(s.Thread)
	k := d.taskOf(s, l)
	if k == nil || !k.Idle && (!k.IsThread() || s.From < l.until) {
		return
	}
	d.slice = Slice{Span: s, Task: k}
	if k.Idle {
		if !d.options.JoinRuns || s.Open || s.To-s.From >= shortGapNs {
			d.enc.Slice(&d.slice)
		}
		return
	}
	switch s.Kind {
	case timeline.SpanRunning:
		l.until = s.To
		d.setWaker(s)
		if len(s.Counts) > 0 {
			d.counts = format.ReadCounts(d.counts[:0], s.Counts)
			d.slice.Counts = d.counts
		}
		if d.options.Neighbours {
			d.slice.PrevTask, d.slice.NextTask = d.task(s.Off.Prev), d.task(s.Next)
		}
		if l.hasOrigin() {
			d.slice.Arrow, d.slice.Waking = l.arrive(s)
		}
		d.ran(l)
		return
	case timeline.SpanRunnable:
		l.until = s.To
		d.setWaker(s)
		if s.Off.Preempted && (d.options.PreemptedStacks || s.Off.Throttled) {
			d.slice.Stack = d.drawnStack(s.Stack)
		}
	case timeline.SpanBlocked:
		l.until = s.To
		d.slice.Stack = d.drawnStack(s.Stack)
		d.slice.Wait = d.waits.wait(waitKey{s.Wait, s.Stack, s.State}, d.slice.Stack, k.Def.Flags&uint32(format.TaskFlag_TASK_FLAG_KTHREAD) != 0)
	}
	if d.options.OffCPU == nil || s.Kind != timeline.SpanUnknown && s.Kind != timeline.SpanNew && d.options.OffCPU(&d.slice) {
		d.drawRuns(l)
		d.enc.Slice(&d.slice)
	}
}

// setWaker sets who woke the thread of the slice.
func (d *Drawer) setWaker(s *timeline.Span) {
	if s.Off.Woken == 0 {
		return
	}
	d.slice.Waker = d.task(s.Off.Waker)
	if s.Off.WokenBy != 0 {
		d.slice.WakingInterrupt, _ = d.spans.InterruptName(s.Off.WokenBy)
	}
}

// origin is an instant that may become the beginning of an arrow.
type origin struct {
	id  uint64 // 0: not numbered
	at  int64  // CLOCK_MONOTONIC ns; 0: there is none
	by  *Task
	cpu uint32
}

// begin makes it the origin of an arrow and returns the arrow's number: that of the previous arrow if that has ended.
func (d *Drawer) begin(o *origin, at int64, by *Task, cpu uint32) uint64 {
	if o.id == 0 || o.at != 0 {
		d.arrows++
		o.id = d.arrows
	}
	o.at, o.by, o.cpu = at, by, cpu
	return o.id
}

// end removes the instant. Its number can be reused if its arrow is one of those that have ended.
func (o *origin) end(ended ...uint64) {
	if o.at != 0 && !slices.Contains(ended, o.id) {
		o.id = 0
	}
	o.at, o.by = 0, nil
}

// woken draws the waking that makes a thread runnable; further ones during the same time off the CPU are not drawn. For a thread
// that runs or whose state is unknown all are drawn: any may turn out to be the one that counts.
func (d *Drawer) woken(e *format.Event, targetCPU uint32, prio int32) {
	id := e.OtherTask()
	var wakee *timeline.Thread
	var before int64
	if e.Flags&format.FlagObject != 0 {
		if wakee = d.spans.Timeline().Enter(id); wakee != nil {
			before = wakee.Woken
		}
	}
	d.spans.Apply(e)
	at := e.Happened()
	if wakee == nil || wakee.Idle() || !d.drawsWaking(e) || wakee.Woken == before && !wakee.WokenEarly(at) {
		return
	}
	by, to := d.task(e.Task), d.task(id)
	if by == nil || !by.Idle && !by.IsThread() || to == nil || !to.IsThread() {
		return
	}
	l := d.stateOf(wakee)
	l.task = to
	o := &l.woken
	if wakee.Status == timeline.Running {
		o = &l.early
	} else if wakee.Status == timeline.Unknown && o.at != 0 {
		o = &l.rewoken
	}
	d.instant = Instant{
		Kind: Wakes, At: at, Task: by, CPU: e.CPU, Object: to, Stack: d.drawnStack(e.Stack()), TargetCPU: targetCPU, Prio: prio,
		Interrupt: e.Kind == format.KindWaking && e.Waking().Interrupt(), Arrow: d.begin(o, at, by, e.CPU),
	}
	d.enc.Instant(&d.instant)
}

// drawsWaking reports whether a waking is drawn if it makes a thread runnable.
func (d *Drawer) drawsWaking(e *format.Event) bool {
	return e.Flags&format.FlagSubject != 0 && (!d.options.FewArrows || e.Stack() != 0)
}

// preempted draws a preemption. It is derived from the switch, because no span ends here if the thread was not known
// to run.
func (d *Drawer) preempted(e *format.Event) {
	if d.options.FewArrows || e.Flags&format.FlagsVisible != format.FlagsVisible || format.State(e.Args[format.SwitchPrevState])&(format.StatePreempted|format.StateThrottled) != format.StatePreempted {
		return
	}
	t, k := d.spans.Timeline().Thread(e.Task), d.task(e.Task)
	by := d.task(e.OtherTask())
	if t == nil || k == nil || !k.IsThread() || by == nil || !by.Idle && !by.IsThread() || by.IsSame(k) {
		return
	}
	at := e.Happened()
	l := d.stateOf(t)
	l.task = k
	d.instant = Instant{Kind: Preempts, At: at, Task: by, CPU: e.CPU, Object: k, Arrow: d.begin(&l.preempted, at, by, e.CPU)}
	d.enc.Instant(&d.instant)
}

// hasOrigin reports whether an arrow to the thread may have begun.
func (l *threadState) hasOrigin() bool {
	return l.woken.at|l.rewoken.at|l.early.at|l.preempted.at != 0
}

// arrive ends the arrows to a slice with which a thread comes back on a CPU. If it was preempted, waking is of a waking
// that it did not need.
func (l *threadState) arrive(s *timeline.Span) (arrow, waking Arrow) {
	off := &s.Off
	if s.SinceKnown && s.Since == s.From { // else it continues from before the window, or under another tid
		if off.Woken != 0 {
			arrow = l.woken.arrow(Wakes, off.Woken)
			if arrow.ID == 0 {
				arrow = l.rewoken.arrow(Wakes, off.Woken)
			}
		}
		if off.Preempted {
			waking, arrow = arrow, Arrow{}
			if off.Known {
				arrow = l.preempted.arrow(Preempts, off.Since)
			}
		}
	}
	for _, o := range [...]*origin{&l.woken, &l.rewoken, &l.preempted} {
		o.end(arrow.ID, waking.ID)
	}
	l.rewoken, l.early = l.early, origin{}
	return arrow, waking
}

// arrow is the one that begins at the instant, if that was at a time.
func (o *origin) arrow(kind InstantKind, at int64) Arrow {
	if o.at != at {
		return Arrow{}
	}
	return Arrow{ID: o.id, Kind: kind, At: o.at, By: o.by, CPU: o.cpu}
}
