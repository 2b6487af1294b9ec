package timeline

import "wprof/format"

// applyLate handles an event that stands after later ones in the stream. It does not undo their effects.
func (tl *Timeline) applyLate(e *format.Event) {
	switch e.Kind {
	case format.KindSwitch:
		tl.switchedLate(e)
	case format.KindWaking:
		tl.waking(e, e.Own)
	default:
		tl.applyRare(e)
	}
}

func (tl *Timeline) switchedLate(e *format.Event) {
	c := tl.cpu(e.CPU)
	if c == nil {
		return
	}
	own := *e
	own.Time = e.Own
	if c.ChangedAt <= e.Own {
		prev, next := tl.Enter(e.Task), tl.Enter(format.TaskID(e.Args[format.SwitchNext]))
		if !prev.changedAfter(e.Own) && !next.changedAfter(e.Own) {
			tl.switched(&own)
			return
		}
	}
	// Another thread runs on the CPU by now, or one of the threads was seen elsewhere. Only the leaving thread can still change.
	if prev := tl.subject(e); prev != nil && !prev.idle && !prev.changedAfter(e.Own) {
		if tl.spans != nil {
			tl.spans.leaves(prev, &own)
		}
		tl.leave(prev, &own)
	}
}

func (t *Thread) changedAfter(at int64) bool { return t != nil && !t.idle && t.ChangedAt > at }
