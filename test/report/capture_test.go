//go:build linux

package report

import (
	"os"
	"testing"

	"wprof/format"
	"wprof/internal/waits"
	"wprof/test/tools"
)

// capture is what a capture says of the threads in it.
type capture struct {
	file        string
	open, close int64
	offCPU      map[int32][]interval // by tid, in order of their ends
	other       map[int32][]interval // times in which a thread was preempted, or to whose end no switch is reported: see docs/kernels.md
	known       map[int32]int64      // by tid, since when its state is known: of a thread that ran while all were listed, from its next switch on
}

// interval is a time that a thread was blocked.
type interval struct {
	class    waits.Class
	from, to int64 // to is the thread's return to a CPU
	isOpen   bool  // it had not returned when the window closed
	isPlaced bool  // the capture says where it was blocked
}

// readCapture reads a capture's off-CPU intervals of blocked threads, and others with a recorded wait: those that ended, and those that lasted to the end.
func readCapture(t *testing.T, file string) *capture {
	t.Helper()
	c := &capture{file: file, offCPU: make(map[int32][]interval), other: make(map[int32][]interval), known: make(map[int32]int64)}
	var r *format.Reader
	var classes *waits.Classifier
	begin := func(reader *format.Reader) { r, classes = reader, waits.NewClassifier(reader) }
	add := func(task format.TaskID, stack format.StackID, wait format.WaitID, state format.State, from, to int64, isOpen bool) {
		tid := r.Task(task).GetTid()
		c.offCPU[tid] = append(c.offCPU[tid], interval{classes.Blocked(stack, wait, state, false).Class, from, to, isOpen, stack != 0 || wait != 0})
	}
	know := func(task format.TaskID, at int64) {
		if tid := r.Task(task).GetTid(); c.known[tid] == 0 {
			c.known[tid] = at
		}
	}
	left := make(map[int32]int64) // by tid, when a thread left its CPU
	last := tools.WalkFile(t, file, func(_ *format.Reader, e *format.Event) {
		switch e.Kind {
		case format.KindSwitch:
			know(e.Switch().Next(), e.Time)
		case format.KindStateThread:
			know(e.Task, e.Time)
		}
		if e.Kind == format.KindSwitch {
			tid := r.Task(e.Task).GetTid()
			if at, away := left[tid]; away {
				c.other[tid] = append(c.other[tid], interval{from: at, to: e.Time})
			}
			left[tid] = e.Time
			delete(left, r.Task(e.Switch().Next()).GetTid())
		}
		switch {
		case e.Kind == format.KindSwitch && e.Flags&(format.SwitchHasSince|format.SwitchHasWait) != 0:
			v := e.Switch()
			since, _ := v.Since()
			if state, _ := v.NextState(); e.Flags&format.SwitchHasWait != 0 || state != format.StateRunnable && state&format.StatePreempted == 0 {
				add(v.Next(), e.Stack(), e.Wait(), state, since, e.Time, false)
			} else {
				tid := r.Task(v.Next()).GetTid()
				c.other[tid] = append(c.other[tid], interval{from: since, to: e.Time})
			}
		case e.Kind == format.KindStateThread && e.Flags&format.FlagOpen != 0:
			v := e.StateThread()
			since, _ := v.Since()
			add(e.Task, e.Stack(), e.Wait(), v.State(), since, e.Time, true)
			delete(left, r.Task(e.Task).GetTid())
		}
	}, begin)
	c.open, c.close = last.FirstOpen(), last.End().Close
	for tid, at := range left { // it waited for a CPU when the window closed
		c.other[tid] = append(c.other[tid], interval{from: at, to: c.close})
	}
	if c.close <= c.open {
		t.Fatalf("%s: the window is from %d to %d", file, c.open, c.close)
	}
	if info, err := os.Stat(file); err == nil {
		t.Logf("%s: %d bytes", file, info.Size())
	}
	return c
}
