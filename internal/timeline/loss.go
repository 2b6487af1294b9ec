package timeline

import "wprof/format"

// LosesState reports whether a loss makes the state of threads unknown: one of events that show which threads run or wait, or of
// an unknown kind.
func LosesState(e *format.Event) bool {
	l := e.Lost()
	return l.Cause() != format.CauseDefinition && l.What().LosesState()
}

// Lost handles that events of a CPU, or with [format.AllCPUs] of every CPU, are missing from one time to another. What
// runs there is unknown, and so is every thread that was off the CPU: it may have run there meanwhile. Only a thread
// that runs on another CPU is where it was.
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
