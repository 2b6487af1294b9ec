//go:build linux

package json

import "fmt"

// shownLine is what a line shows about the time that its next thread was off the CPU.
func shownLine(e *event) string {
	w := want{derived: e.derived}
	if e.Waker != nil {
		w.waker = &taskLine{tid: e.Waker.tid(), pid: e.Waker.PID}
	}
	return shownWant(&w)
}

func shownWant(w *want) string {
	waker := "-"
	if w.waker != nil {
		waker = fmt.Sprintf("%d/%d", w.waker.pid, w.waker.tid)
	}
	return fmt.Sprintf("waking_ts %s reason %q waker %s on %s by %q off %s state %q stack %s delay %s of %s", shown(w.WakingTS),
		w.WakingReason, waker, shown(w.WakingCPU), w.WakingContext, shown(w.OffCPU), w.NextState, shown(w.OffCPUStackID), shown(w.Delay), shown(w.Chain))
}

func shown[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}
