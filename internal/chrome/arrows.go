package chrome

import (
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
)

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. Both
// ends are written then, each right after what it belongs to, to which an importer that goes by order binds it.
//
// An end that belongs to a slice stands inset ns after its beginning. At that moment itself another slice of the row ends,
// which Chrome's own viewer takes for the one that encloses it, and Perfetto, which sorts slices that begin together by
// their length, may see the arrow's end before its slice.
const inset = 1

// preemption is who has taken the CPU from a thread that could have run on.
type preemption struct {
	at  int64
	by  *task // nil: nobody has
	cpu uint32
}

// preempted notes who preempts a thread, for when it comes back. It asks the switch, because of a thread that was not known
// to run no span ends here.
func (c *conversion) preempted(v *format.Event) {
	const sure = format.FlagsVisible
	if v.Flags&(sure|format.FlagLate) != sure || format.State(v.Args[format.SwitchPrevState])&format.StatePreempted == 0 {
		return
	}
	t, k := c.spans.Timeline().Thread(v.Task), c.tasks.of(v.Task)
	if t == nil || t.Idle() || k == nil || k.idle {
		return
	}
	by := c.tasks.of(format.TaskID(v.Args[format.SwitchNext]))
	c.trackOf(t, k).preempted = preemption{v.Time, by, v.CPU}
}

// arrives draws the arrow to a slice with which a thread comes back on a CPU.
func (c *conversion) arrives(tr *track, k *task, s *timeline.Span) {
	if !s.SinceKnown || s.Since != s.From {
		return // it goes on from before the window, or under another tid
	}
	from, at, what := c.drawOrigin(tr, k, s)
	if from == nil {
		return
	}
	c.arrowID++
	c.arrow('s', what, from, at)
	c.arrow('f', what, tr.place, s.From+min(inset, s.To-s.From-1))
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

// drawOrigin draws the moment since which a thread could run, where another one made it so: its waking, or its preemption.
// It returns whose row that is in; nil where nothing was drawn.
func (c *conversion) drawOrigin(tr *track, k *task, s *timeline.Span) (place []byte, at int64, what string) {
	off := &s.Off
	if off.Preempted {
		p := tr.preempted
		if p.by == nil || !off.Known || p.at != off.Since {
			return nil, 0, ""
		}
		at = p.at + 2*inset // where an arrow to the same slice has ended
		return c.drawChange("preempts", p.by, k, p.cpu, at, 0), at, "preempts"
	}
	if w := c.waker(off); w != nil && off.Woken >= c.opened {
		return c.drawChange("wakes", w, k, off.WakerCPU, off.Woken, off.WakerStack), off.Woken, "wakes"
	}
	return nil, 0, ""
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
