package tracks

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// maxInterrupted bounds the CPUs of which interrupts are drawn in the slices of threads.
const maxInterrupted = 1 << 12

// interrupted draws an interrupt again, in the slice of the thread that it interrupted: there the time is missing. It has no arguments but its
// name: those are on the CPU's track.
func (d *Drawer) interrupted(i *Item, e *format.Event) {
	if !i.Interrupts || i.Task == nil || !i.Task.IsThread() || i.Task.Idle {
		return
	}
	t := d.spans.Timeline().Thread(e.Task)
	if t == nil || t.Status != timeline.Running || t.CPU != e.CPU {
		return
	}
	// The thread's own slice begins before, so that viewers nest the two.
	begin := max(t.Since, d.opened) + 1
	if i.To <= begin {
		return
	}
	l, found := d.interrupts.Get(e.CPU)
	if !found {
		l = &lane{}
		d.interrupts.Put(e.CPU, l)
	}
	from := max(i.From, begin)
	early, ok := l.takes(from, i.To, false)
	if !ok || from-early < begin {
		return
	}
	l.put(drawnSlice{from - early, i.To, early})
	one := *i
	one.On, one.Track, one.From, one.Args, one.Stack, one.Colour = format.TypeTrack_TRACK_THREAD, "", from-early, nil, nil, ""
	if one.Name != one.Type {
		one.Name = one.Type + ":" + one.Name
	}
	d.enc.Item(&one)
}
