package timeline

import "wprof/format"

// stateCPU applies a state event of a CPU.
func (s *Spans) stateCPU(c *cpu, t *Thread, e *format.Event) {
	if was := c.Running; was != nil && was != t {
		if was.idle {
			s.idleLost(e.CPU, 0)
		} else {
			s.becomesUnknown(was, was.spanState.seen)
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
	sp := t.spanState
	st, certain := t.lastKnown()
	if st.Status != Running || st.CPU != e.CPU || !st.lasts(certain, since) {
		sp.shown = true
		s.emitCertain(t)
		s.emitUnknown(t, since.Since, false)
		sp.off, sp.offState, sp.offStack, sp.offWait, sp.prev, sp.compound, sp.chain = OffCPU{}, 0, 0, 0, nil, 0, 0
		sp.waking, sp.early = waking{}, waking{}
	}
	sp.becomesKnown(e.Time)
}

// stateThread applies a state event of a thread that is off the CPU.
func (s *Spans) stateThread(t *Thread, e *format.Event) {
	v := e.StateThread()
	if Ends(v.State()) {
		s.ends(t, e.Time)
		return
	}
	sp := t.spanState
	st, certain := t.lastKnown()
	since := stateBegin(e, e.Args[format.StateThreadSince])
	if !since.SinceKnown {
		since.Since = e.Time
	}
	if st.Status != Off || !st.lasts(certain, since) {
		sp.shown, sp.creating = true, !sp.known && e.Flags&format.StateNew != 0
		s.emitCertain(t)
		s.emitUnknown(t, since.Since, false)
		sp.waking, sp.stack, sp.wait, sp.compound, sp.chain = waking{}, 0, 0, 0, 0
		certain = false
	}
	s.stateWaking(sp, e)
	if id, has := v.Stack(); has {
		sp.stack = id
	}
	if id, has := v.Wait(); has {
		sp.wait = id
	}
	sp.becomesKnown(e.Time)
	if !certain {
		sp.early = waking{}
	}
}

// stateWaking applies the waking that a state event reports, unless the waking was an event itself.
func (s *Spans) stateWaking(sp *spanState, e *format.Event) {
	v := e.StateThread()
	at, has := v.Woken()
	if !has || at == sp.waking.at {
		return
	}
	if at == sp.early.at {
		sp.waking = sp.early
		return
	}
	id, _ := v.Waker()
	n, _ := v.WakerCPU()
	sp.waking = waking{at: at, by: s.tl.Thread(id), id: id, cpu: uint32(n), irq: e.Flags&format.StateWokenIRQ != 0}
}

// lost is called for each thread whose state a loss makes unknown. Before the loss its state is certain.
func (s *Spans) lost(t *Thread, from int64) {
	if t.Status == Running || t.Status == Off {
		s.becomesUnknown(t, max(t.spanState.seen, from))
	}
}
