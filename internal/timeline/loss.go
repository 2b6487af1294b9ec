package timeline

import "wprof/format"

// LosesState reports whether a loss makes the state of threads unknown: events are lost that show which threads run or wait, or
// events of an unknown kind.
func LosesState(e *format.Event) bool {
	l := e.Lost()
	return l.Cause() != format.CauseDefinition && l.What().LosesState()
}

// Lost handles a loss of events of one CPU, or with [format.AllCPUs] of every CPU, between two times. It makes unknown what runs
// there, and the state of every thread that was off-CPU: it may have run there meanwhile. Only threads that run on other CPUs
// keep their state.
func (tl *Timeline) Lost(cpu uint32, from, to int64) {
	for i := range tl.cpus {
		if cpu == format.AllCPUs || cpu == uint32(i) {
			if tl.spans != nil {
				tl.spans.idleLost(uint32(i), from)
			}
			tl.cpus[i].Running = nil
			tl.cpus[i].ChangedAt = to
		}
	}
	known := tl.knownLive
	tl.knownLive = 0
	for i := range known {
		t := tl.live[i]
		if t.Status == Running && cpu != format.AllCPUs && t.CPU != cpu {
			tl.swap(i, tl.knownLive)
			tl.knownLive++
			continue
		}
		if tl.spans != nil {
			tl.spans.lost(t, from)
		}
		t.SetUnknown(from)
		t.ChangedAt = to
	}
}
