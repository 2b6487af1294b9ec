package timeline

import "wprof/format"

// runs takes a state event of a CPU.
func (s *Spans) runs(c *cpu, t *Thread, e *format.Event) {
	if was := c.Running; was != nil && was != t {
		if was.idle {
			s.idleLost(e.CPU, 0)
		} else {
			s.loses(was, was.track.seen)
		}
	}
	if t == nil {
		return
	}
	since := stateBegin(e, e.Args[format.StateCPUSince])
	if !since.SinceKnown {
		since.Since = e.Time
	}
	if t.idle {
		s.idleIs(e.CPU, t, idling{from: since.Since, Begin: since, prio: e.StateCPU().Prio(), seen: e.Time})
		return
	}
	tr := t.track
	st, sure := t.lastKnown()
	if st.Status != Running || st.CPU != e.CPU || !st.lasts(sure, since) {
		tr.shown = true
		s.settle(t)
		s.gap(t, since.Since, false)
		tr.off, tr.offState, tr.offStack, tr.prev, tr.compound, tr.chain = OffCPU{}, 0, 0, nil, 0, 0
		tr.waking, tr.early = waking{}, waking{}
	}
	tr.becomes(e.Time)
}

// isOff takes a state event of a thread that is off the CPU.
func (s *Spans) isOff(t *Thread, e *format.Event) {
	v := e.StateThread()
	if Ends(v.State()) {
		s.dies(t, e.Time)
		return
	}
	tr := t.track
	st, sure := t.lastKnown()
	since := stateBegin(e, e.Args[format.StateThreadSince])
	if !since.SinceKnown {
		since.Since = e.Time
	}
	if st.Status != Off || !st.lasts(sure, since) {
		tr.shown, tr.making = true, !tr.known && e.Flags&format.StateNew != 0
		s.settle(t)
		s.gap(t, since.Since, false)
		tr.waking, tr.stack, tr.compound, tr.chain = waking{}, 0, 0, 0
		sure = false
	}
	s.stateWaking(tr, e)
	if id, has := v.Stack(); has {
		tr.stack = id
	}
	tr.becomes(e.Time)
	if !sure {
		tr.early = waking{}
	}
}

// stateWaking takes the waking of a state event, unless it was seen itself.
func (s *Spans) stateWaking(tr *track, e *format.Event) {
	v := e.StateThread()
	at, has := v.Woken()
	if !has || at == tr.waking.at {
		return
	}
	if at == tr.early.at {
		tr.waking = tr.early
		return
	}
	id, _ := v.Waker()
	n, _ := v.WakerCPU()
	tr.waking = waking{at: at, by: s.tl.Thread(id), id: id, cpu: uint32(n), irq: e.Flags&format.StateWokenIRQ != 0}
}

// lost is called for each thread that a loss makes unknown: before the loss nothing is missing.
func (s *Spans) lost(t *Thread, from int64) {
	if t.Status == Running || t.Status == Off {
		s.loses(t, max(t.track.seen, from))
	}
}
