package probeplan

import (
	"wprof/format"
	"wprof/internal/probe"
	"wprof/internal/tracepoint"
)

// counts reports whether events are counted in the kernel.
func (b *builder) counts() bool { return b.d.Settings.Aggregates() }

// counted resolves by what events are counted, and what is added up.
func (b *builder) counted() error {
	s := &b.d.Settings
	for i := range s.By.Args {
		if err := b.addSomewhere(s.By.Args[i], true); err != nil {
			return err
		}
	}
	if s.By.Comm {
		if err := b.addSomewhere(probe.Arg{Base: probe.BaseName, Name: commWord}, true); err != nil {
			return err
		}
	}
	amount := s.Sum
	if amount == nil {
		amount = s.Hist
	}
	if amount == nil {
		return nil
	}
	if err := b.addSomewhere(*amount, false); err != nil {
		return err
	}
	b.amount = b.tests[len(b.tests)-1]
	b.tests = b.tests[:len(b.tests)-1]
	switch leaf := b.amount.leaf(); {
	case leaf.Kind != probe.LeafNumber:
		return b.d.Errorf(amount.At, 0, nil, "it is a text, which cannot be added up")
	case leaf.Float:
		return b.d.Errorf(amount.At, 0, nil, "it is a floating-point number, which the kernel cannot add up")
	}
	return nil
}

// addSomewhere adds a value of the first end that has it.
func (b *builder) addSomewhere(a probe.Arg, recorded bool) (failed error) {
	for _, e := range b.all {
		if !b.belongs(e, &a) {
			continue
		}
		if failed = b.addField(e, a, recorded); failed == nil {
			return nil
		}
	}
	return failed
}

// Places of what user space adds to the values, from their end on.
const (
	CountEvents   = 0
	CountSum      = 8
	CountInterval = 16
	CountBuckets  = 24
	CountBytes    = CountBuckets + 64*8 // without buckets CountBuckets
)

// addCounts adds the fields of what was counted.
func (b *builder) addCounts(def *format.EventType, places []tracepoint.Place, l layout) []tracepoint.Place {
	def.On = uint32(format.TypeTrack_TRACK_GLOBAL)
	keys := 0
	var unit []byte // of what is added up
	if b.d.Settings.HistDuration {
		unit = []byte("ns")
	}
	for i, f := range def.Fields {
		if !f.Is(format.ValueType_VALUE_STACK) && f.Hint != uint32(format.ValueHint_HINT_UNREAD) {
			keys++
			if keys == 1 {
				def.Fields[i].Hint = uint32(format.ValueHint_HINT_TRACK)
			}
		}
	}
	add := func(name string, of format.ValueType, hint format.ValueHint, p tracepoint.Place) {
		f := &format.TypeField{Name: []byte(name), Type: uint32(of), Hint: uint32(hint), List: p.Count > 0}
		if hint == format.ValueHint_HINT_COUNTER || hint == format.ValueHint_HINT_BUCKETS {
			f.Unit = unit
		}
		def.Fields = append(def.Fields, f)
		places = append(places, p)
	}
	at := l.fixed
	add("events", format.ValueType_VALUE_UINT, format.ValueHint_HINT_EVENTS, tracepoint.Place{Offset: at + CountEvents, Size: 8})
	if s := &b.d.Settings; s.Sum != nil || s.Hist != nil || s.HistDuration {
		add("sum", format.ValueType_VALUE_INT, format.ValueHint_HINT_COUNTER, tracepoint.Place{Offset: at + CountSum, Size: 8, Signed: true})
		if s.Hist != nil || s.HistDuration {
			add("buckets", format.ValueType_VALUE_UINT, format.ValueHint_HINT_BUCKETS, tracepoint.Place{Offset: at + CountBuckets, Size: 8, Count: 64})
		}
	}
	add("interval", format.ValueType_VALUE_DURATION, format.ValueHint_HINT_NONE, tracepoint.Place{Offset: at + CountInterval, Size: 8})
	return places
}
