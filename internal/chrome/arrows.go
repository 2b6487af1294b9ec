package chrome

import (
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
)

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. Both
// ends are written then, the second right after its slice, to which an importer that goes by order binds it. The instant is
// written when it is told, for the names that threads have then.
//
// An end that belongs to a slice stands inset ns after its beginning. At that moment itself another slice of the row ends,
// which Chrome's own viewer takes for the one that encloses it, and Perfetto, which sorts slices that begin together by
// their length, may see the arrow's end before its slice.
const inset = 1

// origin is an instant that may become the beginning of an arrow.
type origin struct {
	at    int64  // when it is drawn, CLOCK_MONOTONIC ns
	event int64  // when timeline says that it was
	place []byte // its row; nil: there is none
}

// origins are those of a thread: of its first waking, of a waking that may count instead because nothing was known of the
// thread, of one while it ran, which may count for the slice after this one, and of its preemption.
type origins struct{ woken, rewoken, early, preempted origin }

// woken takes a waking and draws it if it makes a thread runnable; further ones of the same time off the CPU are not drawn.
// Of a thread that runs, or of which nothing is known, all are: any may turn out to be the one that counts.
func (c *conversion) woken(v *format.Event, id format.TaskID, stack format.StackID) {
	var wakee *timeline.Thread
	var before int64
	if v.Flags&format.FlagObject != 0 {
		if wakee = c.spans.Timeline().Enter(id); wakee != nil {
			before = wakee.Woken
		}
	}
	c.spans.Apply(v)
	at := happenedAt(v)
	if wakee == nil || wakee.Idle() || v.Flags&format.FlagSubject == 0 || wakee.Woken == before && !wakee.WokenEarly(at) {
		return
	}
	by, to := c.tasks.of(v.Task), c.tasks.of(id)
	if by == nil || to == nil || to.idle {
		return
	}
	o := &c.trackOf(wakee, to).origins
	one := &o.woken
	if wakee.Status == timeline.Running {
		one = &o.early
	} else if wakee.Status == timeline.Unknown && o.woken.place != nil {
		one = &o.rewoken
	}
	*one = origin{at, at, c.drawChange("wakes", by, to, v.CPU, at, stack)}
}

// preempted draws that a thread takes the CPU from one that could have run on. It asks the switch, because of a thread that
// was not known to run no span ends here.
func (c *conversion) preempted(v *format.Event) {
	if v.Flags&format.FlagsVisible != format.FlagsVisible || format.State(v.Args[format.SwitchPrevState])&format.StatePreempted == 0 {
		return
	}
	t, k := c.spans.Timeline().Thread(v.Task), c.tasks.of(v.Task)
	by := c.tasks.of(format.TaskID(v.Args[format.SwitchNext]))
	if t == nil || t.Idle() || k == nil || k.idle || by == nil || by == k {
		return
	}
	at := happenedAt(v)
	drawn := at + 2*inset // where an arrow to the same slice has ended
	c.trackOf(t, k).origins.preempted = origin{drawn, at, c.drawChange("preempts", by, k, v.CPU, drawn, 0)}
}

// happenedAt is when an event happened, also if it is told late.
func happenedAt(v *format.Event) int64 {
	if v.Flags&format.FlagLate != 0 {
		return v.Own
	}
	return v.Time
}

// arrives draws the arrow to a slice with which a thread comes back on a CPU.
func (c *conversion) arrives(tr *track, s *timeline.Span) {
	o := tr.origins
	tr.origins = origins{rewoken: o.early}
	if !s.SinceKnown || s.Since != s.From {
		return // it goes on from before the window, or under another tid
	}
	from, what := o.of(&s.Off)
	if from.place == nil {
		return
	}
	c.arrowID++
	c.arrow('s', what, from.place, from.at)
	c.arrow('f', what, tr.place, s.From+min(inset, s.To-s.From-1))
}

// of is where the arrow to the slice that follows a time off the CPU begins.
func (o *origins) of(off *timeline.OffCPU) (from origin, what string) {
	switch {
	case off.Preempted && off.Known && o.preempted.event == off.Since:
		return o.preempted, "preempts"
	case off.Preempted || off.Woken == 0:
	case o.woken.event == off.Woken:
		return o.woken, "wakes"
	case o.rewoken.event == off.Woken:
		return o.rewoken, "wakes"
	}
	return origin{}, ""
}

func (c *conversion) arrow(phase byte, what string, place []byte, at int64) {
	b := append(append(c.out.next(), `{"ph":"`...), phase)
	b = append(append(append(b, `","cat":"`...), what...), `","name":"`...)
	b = append(append(append(b, what...), `","id":`...), strconv.AppendInt(c.scratch[:0], c.arrowID, 10)...)
	b = appendMicros(append(append(b, ','), place...), at-c.first)
	if phase == 'f' {
		b = append(b, `,"bp":"e"`...)
	}
	c.out.b = append(b, '}')
}

// drawChange draws a moment at which one thread changes what another one can do. It returns whose row that is in; nil if
// there is none.
func (c *conversion) drawChange(what string, by, to *task, cpu uint32, at int64, stack format.StackID) []byte {
	place := c.placeOf(by, cpu)
	if place == nil {
		return nil
	}
	b := append(append(append(c.out.next(), `{"ph":"i","s":"t","cat":"`...), what...), `","name":"`...)
	b = append(append(append(b, what...), ' '), to.name[1:]...)
	b = appendMicros(append(append(b, ','), place...), at-c.first)
	b = strconv.AppendInt(append(b, `,"args":{"tid":`...), int64(to.tid), 10)
	b = strconv.AppendUint(append(b, `,"cpu":`...), uint64(cpu), 10)
	c.out.b = append(c.stackOf(stack).endArgs(b), '}')
	return place
}

// placeOf is the row of a thread, or, of an idle one, that of its CPU; nil if there is none.
func (c *conversion) placeOf(k *task, cpu uint32) []byte {
	if k.idle {
		if row := c.cpu(cpu); row != nil {
			return row.whole
		}
		return nil
	}
	if k.row == nil {
		k.row = c.track(place{k.pid, k.tid})
	}
	if k.row.named == nil {
		c.introduce(k.row, k)
	}
	return k.row.place
}
