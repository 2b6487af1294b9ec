package timeline

import (
	"slices"
	"strconv"

	"wprof/format"
	"wprof/internal/byid"
)

// InterruptID is an interrupt by its name, and what it interrupted; 0: none. [Spans.InterruptName] names it.
type InterruptID uint32

// Interrupt is a part of a span in which interrupts ran on the CPU instead of the thread. The parts of a span are in order and do not overlap:
// where interrupts are nested, the time is that of the innermost one.
type Interrupt struct {
	From, To int64
	By       InterruptID
}

// InterruptDefinitions looks up what event types need besides [Definitions]. [format.Reader] implements it.
type InterruptDefinitions interface {
	EventType(id uint32) *format.EventType
	Text(id uint32) *format.Text
}

// Bounds of what a stream can make a Spans keep. A running interval with more interrupts than maxParts is emitted in several spans.
const (
	maxParts      = 1 << 12 // of a CPU
	fewParts      = 16      // of a CPU, where all CPUs together have maxAllParts
	maxAllParts   = 1 << 20 // 24 MiB
	maxIRQWakings = 64      // of a CPU since its last switch
	maxInterrupts = 1 << 14 // names; further ones have one name together
	maxIRQName    = 128     // bytes
	maxIRQDepth   = 8       // interrupts in each other that are kept apart
)

// moreInterrupts is the name of those beyond maxInterrupts.
const moreInterrupts = "more interrupts"

// interrupts are those of each CPU that are in no span yet. Their events stand at their ends: those of inner interrupts come before
// those of outer ones, and since no interrupt lasts longer than the CPU's thread runs, all before the switch that ends the running interval.
type interrupts struct {
	defs    InterruptDefinitions
	types   byid.Table[*interruptType] // of the current section
	names   []interruptName            // by InterruptID
	ids     map[interruptName]InterruptID
	cpus    []cpuInterrupts
	held    int // parts for which all CPUs have memory
	numbers int // entries of all byNumber
	// wakersOnly: spans have no interrupts, and are not divided.
	wakersOnly bool

	values []format.Value
	inner  []Interrupt
	taken  []Interrupt // of the span that is emitted
}

// cpuInterrupts are those of one CPU.
type cpuInterrupts struct {
	parts   []Interrupt
	done    int64       // no later part begins before
	wakings []irqWaking // in interrupts that have not ended
}

// irqWaking is a waking in an interrupt.
type irqWaking struct {
	at int64
	of *Thread
}

type interruptName struct {
	name  string
	outer InterruptID // what it interrupted; 0: the thread
	hard  bool
	depth uint8
}

// interruptType is an event type that interrupts.
type interruptType struct {
	def       *format.EventType // nil: it does not interrupt
	name, own int               // fields with these hints; -1: none
	byNumber  map[uint64]InterruptID
}

// WithInterrupts makes spans have the interrupts in them, and wakings the interrupts that woke.
func (s *Spans) WithInterrupts(defs InterruptDefinitions) {
	in := &interrupts{defs: defs, ids: make(map[interruptName]InterruptID), names: make([]interruptName, 1)}
	in.intern(interruptName{name: moreInterrupts})
	s.interrupts = in
}

// WithInterruptWakers only makes wakings have the interrupts that woke.
func (s *Spans) WithInterruptWakers(defs InterruptDefinitions) {
	s.WithInterrupts(defs)
	s.interrupts.wakersOnly = true
}

// HasInterrupts reports whether there was any interrupt.
func (s *Spans) HasInterrupts() bool { return s.interrupts != nil && len(s.interrupts.names) > 2 }

// InterruptName returns the name of an interrupt, as "hardirq:virtio1-req.0", and the one that it interrupted; 0: a thread.
func (s *Spans) InterruptName(id InterruptID) (name string, outer InterruptID) {
	n := &s.interrupts.names[id]
	return n.name, n.outer
}

// nearInterrupt is how far from an interrupt's span samples of it are: its entry and exit are not in the span, and code that runs with interrupts off
// is sampled where it turns them on again, ns.
const nearInterrupt = int64(20e3)

// Sampled returns the interrupt, of those in a span, that a sample at a time is of; 0: it is of the thread. The hard interrupt of the timer itself is
// not in its stack: it is of what that one interrupted. inside: the stack is that of an interrupt.
func (s *Spans) Sampled(all []Interrupt, at int64, inside bool) InterruptID {
	n, found := slices.BinarySearchFunc(all, at, func(p Interrupt, at int64) int {
		switch {
		case p.To <= at:
			return -1
		case p.From > at:
			return 1
		}
		return 0
	})
	if found {
		by := &s.interrupts.names[all[n].By]
		if !by.hard {
			return all[n].By
		}
		if by.outer != 0 || !inside {
			return by.outer
		}
	}
	if !inside {
		return 0
	}
	near, by := nearInterrupt, InterruptID(0)
	if n > 0 && at-all[n-1].To < near {
		near, by = at-all[n-1].To, all[n-1].By
	}
	if n < len(all) && max(0, all[n].From-at) < near {
		by = all[n].By
	}
	return by
}

// InterruptTime returns the time that interrupts took of a span, ns.
func (p *Span) InterruptTime() (ns int64) {
	for i := range p.Interrupts {
		ns += p.Interrupts[i].To - p.Interrupts[i].From
	}
	return ns
}

// interrupted applies an event of an interrupt that has ended.
func (s *Spans) interrupted(e *format.Event) {
	in := s.interrupts
	t := in.typeOf(e.TypeID())
	start, isSpan := e.Start()
	if t.def == nil || !isSpan {
		return
	}
	c := in.cpu(e.CPU)
	var ok bool
	if in.values, ok = t.def.AppendValues(in.values[:0], e); c == nil || !ok || t.own >= 0 && in.values[t.own].Number != 0 {
		return
	}
	by := in.idOf(t)
	s.nameWakers(c, e.CPU, start, by)
	if in.wakersOnly {
		return
	}
	before := cap(c.parts)
	in.add(c, Interrupt{start, e.Happened(), by})
	in.held += cap(c.parts) - before
	if limit := in.limit(); len(c.parts) > limit {
		s.divide(c, e.CPU, c.parts[limit/2].From)
	}
}

func (in *interrupts) limit() int {
	if in.held > maxAllParts {
		return fewParts
	}
	return maxParts
}

// divide emits what has run on a CPU up to a time.
func (s *Spans) divide(c *cpuInterrupts, cpu uint32, to int64) {
	if t := s.tl.Running(cpu); t != nil {
		if t.idle {
			s.idleUntil(cpu, to, 0, false)
		} else {
			s.EmitThread(t, to)
		}
	}
	s.interrupts.take(cpu, to, to)
}

// cpu returns the interrupts of a CPU; nil if there can be no CPU of that number.
func (in *interrupts) cpu(n uint32) *cpuInterrupts {
	if n >= maxCPUs {
		return nil
	}
	if int64(n) >= int64(len(in.cpus)) {
		in.cpus = append(in.cpus, make([]cpuInterrupts, int(n)+1-len(in.cpus))...)
	}
	return &in.cpus[n]
}

// add adds an interrupt that has ended. Those that began after it are in it. Where that cannot be, because one of two that overlap is late or wrong, the
// time is that of the one whose event came first.
func (in *interrupts) add(c *cpuInterrupts, one Interrupt) {
	n := len(c.parts)
	if n > 0 && c.parts[n-1].To > one.To {
		return
	}
	for n > 0 && c.parts[n-1].From >= one.From {
		n--
	}
	at := max(one.From, c.done)
	if n > 0 {
		at = max(at, c.parts[n-1].To)
	}
	in.inner = append(in.inner[:0], c.parts[n:]...)
	c.parts = c.parts[:n]
	for _, inner := range in.inner {
		c.append(at, inner.From, one.By)
		c.append(max(at, inner.From), inner.To, in.under(one.By, inner.By))
		at = max(at, inner.To)
	}
	c.append(at, one.To, one.By)
}

// append adds a part, or lengthens the last one: interrupts that are in too many others have no part of their own.
func (c *cpuInterrupts) append(from, to int64, by InterruptID) {
	if from >= to {
		return
	}
	if n := len(c.parts); n > 0 && c.parts[n-1].To == from && c.parts[n-1].By == by {
		c.parts[n-1].To = to
		return
	}
	c.parts = append(c.parts, Interrupt{from, to, by})
}

// take returns the interrupts between two times, valid until the next call, and forgets all up to the second one.
func (in *interrupts) take(cpu uint32, from, to int64) []Interrupt {
	in.taken = in.taken[:0]
	if int64(cpu) >= int64(len(in.cpus)) {
		return nil
	}
	c := &in.cpus[cpu]
	c.done = max(c.done, to)
	n := 0
	for ; n < len(c.parts) && c.parts[n].From < to; n++ {
		p := c.parts[n]
		p.From, p.To = max(p.From, from), min(p.To, to)
		if p.From < p.To {
			in.taken = append(in.taken, p)
		}
		if c.parts[n].To > to {
			c.parts[n].From = to
			break
		}
	}
	if n == 0 {
		return in.taken
	}
	c.parts = c.parts[:copy(c.parts, c.parts[n:])]
	if len(c.parts) == 0 && in.held > maxAllParts/2 {
		in.held -= cap(c.parts)
		c.parts = nil
	}
	return in.taken
}

// open forgets everything before a window.
func (in *interrupts) open(at int64) {
	for n := range in.cpus {
		in.take(uint32(n), at, at)
		in.cpus[n].wakings = in.cpus[n].wakings[:0]
	}
}

// newSection forgets ids.
func (in *interrupts) newSection() {
	in.types.Clear()
	in.numbers = 0
}

// typeOf returns the type with an id.
func (in *interrupts) typeOf(id uint32) *interruptType {
	if known := in.types.Get(id); known != nil {
		return known
	}
	t := &interruptType{name: -1, own: -1}
	if def := in.defs.EventType(id); !def.IsLost() && def.IsInterrupt() {
		t.def, t.byNumber = def, make(map[uint64]InterruptID)
		for n, f := range def.Fields {
			switch format.ValueHint(f.Hint) {
			case format.ValueHint_HINT_NAME:
				t.name = n
			case format.ValueHint_HINT_OWN:
				t.own = n
			}
		}
	}
	in.types.Put(id, t)
	return t
}

// idOf returns the interrupt of an event by its values.
func (in *interrupts) idOf(t *interruptType) InterruptID {
	var v format.Value
	if t.name >= 0 {
		v = in.values[t.name]
	}
	if v.Bytes != nil {
		return in.intern(in.nameOf(t, &v))
	}
	id, known := t.byNumber[v.Number]
	if !known {
		id = in.intern(in.nameOf(t, &v))
		if in.numbers < 4*maxInterrupts {
			t.byNumber[v.Number] = id
			in.numbers++
		}
	}
	return id
}

func (in *interrupts) nameOf(t *interruptType, v *format.Value) interruptName {
	n := interruptName{name: string(t.def.Name), hard: t.def.Interrupts == uint32(format.TypeInterrupts_INTERRUPTS_HARD)}
	if text := in.textOf(v); len(text) > 0 {
		n.name += ":" + string(text[:min(len(text), maxIRQName)])
	}
	return n
}

// textOf returns a value that is a name; empty: it is none.
func (in *interrupts) textOf(v *format.Value) []byte {
	switch {
	case v.Field == nil || v.Field.List:
		return nil
	case v.Field.Is(format.ValueType_VALUE_TEXT):
		if v.Number == 0 {
			return nil
		}
		if t := in.defs.Text(v.ID()); t != nil {
			return t.Text
		}
		return format.LostText(v.ID()).Text
	case v.Field.Is(format.ValueType_VALUE_ENUM):
		if name := v.Field.EnumName(v.Int()); name != nil {
			return name
		}
		return strconv.AppendInt(nil, v.Int(), 10)
	case v.Bytes != nil:
		return v.Bytes
	}
	return strconv.AppendUint(nil, v.Number, 10)
}

func (in *interrupts) intern(n interruptName) InterruptID {
	id, known := in.ids[n]
	if known {
		return id
	}
	if len(in.names) >= maxInterrupts {
		return in.ids[interruptName{name: moreInterrupts}]
	}
	id = InterruptID(len(in.names))
	in.names = append(in.names, n)
	in.ids[n] = id
	return id
}

// under returns an interrupt as one that interrupted another one.
func (in *interrupts) under(outer, id InterruptID) InterruptID {
	n := in.names[id]
	if n.outer != 0 {
		outer = in.under(outer, n.outer)
	}
	n.outer, n.depth = outer, in.names[outer].depth+1
	if n.depth >= maxIRQDepth {
		return outer
	}
	return in.intern(n)
}

// wokenIn notes a waking in an interrupt, whose event comes later.
func (in *interrupts) wokenIn(t *Thread, cpu uint32, at int64) {
	c := in.cpu(cpu)
	if c == nil {
		return
	}
	if len(c.wakings) >= maxIRQWakings {
		c.wakings = slices.Delete(c.wakings, 0, maxIRQWakings/2)
	}
	c.wakings = append(c.wakings, irqWaking{at, t})
}

// switched ends the time in which an interrupt may have begun that has not ended.
func (in *interrupts) switched(cpu uint32) {
	if int64(cpu) < int64(len(in.cpus)) && len(in.cpus[cpu].wakings) > 0 {
		in.cpus[cpu].wakings = in.cpus[cpu].wakings[:0]
	}
}

// nameWakers names the interrupt of the wakings in it, as far as no inner one has been named.
func (s *Spans) nameWakers(c *cpuInterrupts, cpu uint32, from int64, by InterruptID) {
	n := len(c.wakings)
	for n > 0 && c.wakings[n-1].at >= from {
		n--
		one := &c.wakings[n]
		if one.of.Status != Dead {
			one.of.spanState.wokenBy(one.at, cpu, by)
		}
	}
	clear(c.wakings[n:])
	c.wakings = c.wakings[:n]
}

// wokenBy sets the interrupt of a waking.
func (sp *spanState) wokenBy(at int64, cpu uint32, by InterruptID) {
	for _, w := range [...]*waking{&sp.waking, &sp.early} {
		if w.irq && w.at == at && w.cpu == cpu {
			w.interrupt = by
		}
	}
	if o := &sp.off; o.WokenIRQ && o.Woken == at && o.WakerCPU == cpu {
		o.WokenBy = by
	}
}
