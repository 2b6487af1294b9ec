package chrome

import (
	"strconv"

	"wprof/internal/tracks"
)

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. Both
// ends are written then, the second right after its slice, to which an importer that goes by order binds it.
//
// An end that belongs to a slice stands inset ns after its beginning. At that moment itself another slice of the row ends,
// which Chrome's own viewer takes for the one that encloses it, and Perfetto, which sorts slices that begin together by
// their length, may see the arrow's end before its slice.
const inset = 1

// drawnAt returns the time at which the origin of an arrow is drawn. A preemption is moved, because an arrow to the slice that begins
// at the same time has ended there.
func drawnAt(kind tracks.InstantKind, at int64) int64 {
	if kind == tracks.Preempts {
		return at + 2*inset
	}
	return at
}

// arrives draws the arrow to a slice with which a thread comes back on a CPU.
func (c *conversion) arrives(tr *track, s *tracks.Slice) {
	a := &s.Arrow
	if a.ID == 0 {
		return
	}
	from := c.placeOf(c.task(a.By), a.CPU)
	if from == nil {
		return
	}
	c.arrowID++
	what := a.Kind.String()
	c.arrow('s', what, from, drawnAt(a.Kind, a.At))
	c.arrow('f', what, tr.place, s.From+min(inset, s.To-s.From-1))
}

// crosses draws the arrow of a slice that began in another thread than it ended.
func (c *conversion) crosses(i *tracks.Item) {
	from, to := c.placeOf(c.task(i.Began), i.CPU), c.placeOf(c.task(i.Task), i.CPU)
	c.arrowID++
	c.arrow('s', "span", from, i.From)
	c.arrow('f', "span", to, i.To)
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

// wakesOrPreempts draws the instant of a wakeup or a preemption.
func (c *conversion) wakesOrPreempts(i *tracks.Instant) {
	to := c.task(i.Object)
	c.trackOf(to)
	place := c.placeOf(c.task(i.Task), i.CPU)
	if place == nil {
		return
	}
	what := i.Kind.String()
	b := append(append(append(c.out.next(), `{"ph":"i","s":"t","cat":"`...), what...), `","name":"`...)
	b = append(append(append(b, what...), ' '), to.name[1:]...)
	b = appendMicros(append(append(b, ','), place...), drawnAt(i.Kind, i.At)-c.first)
	b = strconv.AppendInt(append(b, `,"args":{"tid":`...), int64(to.tid), 10)
	b = strconv.AppendUint(append(b, `,"cpu":`...), uint64(i.CPU), 10)
	b = appendContext(b, i.Interrupt)
	c.out.b = append(c.stackOf(i.Stack).endArgs(b), '}')
}

// appendContext appends that a waking happened in an interrupt.
func appendContext(b []byte, interrupt bool) []byte {
	if interrupt {
		b = append(b, `,"waking_context":"interrupt"`...)
	}
	return b
}

// placeOf returns the row of a thread, or, for an idle one, that of its CPU; nil if there is none.
func (c *conversion) placeOf(k *task, cpu uint32) []byte {
	if k.idle {
		if row := c.cpu(cpu); row != nil {
			return row.whole
		}
		return nil
	}
	tr := c.row(k)
	if tr.named == nil {
		c.introduce(tr, k)
	}
	return tr.place
}
