package tracks

import (
	"slices"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/timeline"
)

// Draw reads a stream to its end and calls enc with everything that is drawn: with [Options.Threads] on another goroutine;
// without them, copying events for it would cost more than drawing them. Whatever ends the stream, its last window is closed;
// errors of the stream come back after all before them has been drawn.
func Draw(r *format.Reader, enc Encoder, o Options) (Summary, error) {
	if !o.Threads {
		d := NewDrawer(r, enc, o)
		err := timeline.Visit(r, d)
		return d.sum, err
	}
	b := startAsync(enc)
	d := NewDrawer(r, b.encoder(), o)
	err := timeline.Visit(r, d)
	if failed := b.finish(); err == nil {
		err = failed
	}
	d.sum.DroppedThreads = d.spans.Timeline().DroppedThreads()
	return d.sum, err
}

// Drawer is the [timeline.Visitor] that draws.
type Drawer struct {
	*Maker
	enc     Encoder
	events  EventEncoder    // nil: enc is none
	spans   *timeline.Spans // nil: nothing is drawn of threads
	options Options
	rows    *bounded.Map[int32, *row] // by tid
	arrows  uint64                    // numbers of arrows that were given
	clocks  int                       // snapshots of this section that were passed on
	opened  int64                     // when the window did
	counts  []format.Count            // of the current slice
	last    int64                     // time of the last event
	sum     Summary

	joining     []*threadState // with Options.JoinRuns, those that may have runs
	nextOldRuns int64          // when those are drawn that have ended
	spare       []*joinedRuns
	interrupts  *bounded.Map[uint32, *lane] // by CPU, of the interrupts that are drawn in the slices of threads

	// Arguments of enc's methods, reused.
	event   Event
	slice   Slice
	instant Instant
	sample  Sample
	note    Note
}

// NewDrawer returns a Drawer that looks ids up in defs and calls enc.
func NewDrawer(defs Definitions, enc Encoder, o Options) *Drawer {
	d := &Drawer{Maker: NewMaker(defs), enc: enc, options: o, rows: bounded.NewMap[int32, *row](maxRows), interrupts: bounded.NewMap[uint32, *lane](maxInterrupted)}
	d.python = o.Python
	d.events, _ = enc.(EventEncoder)
	if o.Threads {
		d.spans = timeline.NewSpans(defs, d.span)
		d.spans.WithInterruptWakers(defs)
	}
	return d
}

// NewSection implements [timeline.Visitor].
func (d *Drawer) NewSection(s *format.Session) error {
	d.drawAllRuns()
	if d.spans != nil {
		d.spans.NewSection(s)
	}
	d.Maker.NewSection(s)
	d.enc.Section(s)
	d.clocks = 0
	d.passClocks()
	return d.enc.Flush()
}

// passClocks passes on the clock snapshots that were read since the last call.
func (d *Drawer) passClocks() {
	all := d.defs.Clocks()
	if d.events != nil {
		for _, s := range all[d.clocks:] {
			d.events.Clock(s)
		}
	}
	d.clocks = len(all)
}

// Open implements [timeline.Visitor].
func (d *Drawer) Open(s *format.Session, at, before int64, isFirst bool) error {
	if !isFirst && at > before {
		d.note = Note{Kind: NotRecorded, CPU: format.AllCPUs, From: before, To: at, Name: "not recorded"}
		d.enc.Note(&d.note)
	}
	d.opened = at
	if d.spans != nil {
		d.spans.Open(at)
	}
	d.enc.Open(at, s)
	return d.enc.Flush()
}

// Event implements [timeline.Visitor].
func (d *Drawer) Event(e *format.Event) error {
	d.sum.Events++
	d.last = max(d.last, e.Time)
	if e.Kind == format.KindExec {
		e.Data = e.Data[:min(len(e.Data), maxText)]
	}
	if len(d.defs.Clocks()) != d.clocks {
		d.passClocks()
	}
	if e.Flags&(format.FlagLate|format.FlagOpen) == format.FlagLate { // what its thread has left open is always known later
		d.note = lateNote(e)
		d.enc.Note(&d.note)
	}
	if e.Kind == format.KindLost {
		d.sum.Lost = d.sum.Lost || e.Lost().IsFault()
		d.note = lostNote(e)
		d.enc.Note(&d.note)
	}
	if d.events != nil {
		d.event = Event{e, d.task(e.Task), d.task(e.OtherTask())}
		d.events.Event(&d.event)
	}
	d.draw(e)
	if e.Time >= d.nextOldRuns && len(d.joining) > 0 {
		d.drawOldRuns(e.Time)
	}
	return d.enc.Flush()
}

// Close implements [timeline.Visitor].
func (d *Drawer) Close(at int64) error {
	at = max(at, d.last)
	if d.spans != nil {
		d.spans.Close(at)
	}
	d.drawAllRuns()
	d.drawAll(d.Maker.Close(at))
	d.enc.Close(at)
	return d.enc.Flush()
}

// draw draws the slices and instants of threads that an event ends or makes.
func (d *Drawer) draw(e *format.Event) {
	if d.spans == nil {
		if e.Kind == format.KindSample {
			d.sampled(e)
		}
		return
	}
	switch e.Kind {
	case format.KindSwitch:
		d.spans.Apply(e)
		d.preempted(e)
	case format.KindWaking:
		d.woken(e, uint32(e.Args[format.WakingTargetCPU]), int32(e.Args[format.WakingPrio]))
	case format.KindWakeupNew:
		d.woken(e, uint32(e.Args[format.WakeupNewTargetCPU]), int32(e.Args[format.WakeupNewPrio]))
	case format.KindSample:
		d.spans.Apply(e)
		d.sampled(e)
	default:
		d.spans.Apply(e)
		d.happened(e)
	}
}

// happened draws the instants of a thread, and the items of plain kinds and event types.
func (d *Drawer) happened(e *format.Event) {
	if e.Flags&format.FlagSubject == 0 {
		return
	}
	if items, ok := d.Items(e); ok {
		d.drawAll(items)
		for i := range items {
			d.interrupted(&items[i], e)
		}
		return
	}
	k := d.task(e.Task)
	if k == nil || !k.IsThread() {
		return
	}
	d.instant = Instant{At: e.Happened(), Task: k, CPU: e.CPU}
	i := &d.instant
	switch e.Kind {
	case format.KindFork:
		if i.Kind, i.Object = Forks, d.task(e.OtherTask()); i.Object == nil || e.Flags&format.FlagObject == 0 {
			return
		}
	case format.KindExec:
		i.Kind, i.Path = Execs, e.Data
		if tid, has := e.Exec().OldTID(); has && int32(tid) != k.Def.Tid {
			i.OldTID = int32(tid)
		}
	case format.KindRename:
		if i.Kind, i.Object = Renames, d.task(e.OtherTask()); i.Object == nil {
			return
		}
	case format.KindExit:
		i.Kind = Exits
		i.Code, i.Signal = e.Exit().Status()
	default:
		return
	}
	d.enc.Instant(i)
}

func (d *Drawer) sampled(e *format.Event) {
	if e.Flags&format.FlagSubject == 0 {
		return
	}
	d.sample = Sample{At: e.Happened(), Task: d.task(e.Task), CPU: e.CPU, Source: e.Args[format.SampleSource], Stack: d.drawnStack(e.Stack())}
	if counts, has := e.Sample().Counts(); has {
		d.counts = format.ReadCounts(d.counts[:0], counts)
		d.sample.Counts = d.counts
	}
	d.enc.Sample(&d.sample)
}

// drawnStack returns the stack of an id; nil: there is none, or stacks are not drawn.
func (d *Drawer) drawnStack(id format.StackID) *Stack {
	if d.options.NoStacks {
		return nil
	}
	return d.resolver.stack(id)
}

// drawAll draws items, which may be very many where a window closes.
func (d *Drawer) drawAll(items []Item) {
	for i := range items {
		d.item(&items[i])
		_ = d.enc.Flush() // the next call returns the error too
	}
}

// item draws the part of an item that lies in the window.
func (d *Drawer) item(i *Item) {
	if i.To < d.opened {
		return
	}
	if i.From < d.opened {
		i.Shorten(d.opened)
	}
	if d.options.NoStacks {
		i.Stack = nil
		i.Args = slices.DeleteFunc(i.Args, func(a Arg) bool { return a.Type == ArgStack })
	}
	d.enc.Item(i)
}
