package info

import (
	"fmt"
	"io"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/printable"
)

// Waits counts the events that may have a stack, those that have one, and how these end.
type Waits struct {
	Off   Stacked // off-CPU intervals that ended
	Still Stacked // threads that were off-CPU when the window closed
	Woken Stacked // wakeups, by the waker
}

// Stacked is a number of events, how many of them have a stack, and how the user parts of these end.
type Stacked struct {
	All, WithStack uint64
	User           UserStacks
}

// countOf returns the count to which an event belongs; nil: none. A filter that hides next hides the off-CPU interval that the switch
// ends; one that hides the waker does not hide the stack of the wakeup.
func (w *Waits) countOf(e *format.Event) *Stacked {
	switch e.Kind {
	case format.KindSwitch:
		if e.Flags&format.FlagObject != 0 && e.Flags&(format.SwitchHasSince|format.SwitchHasStack) != 0 {
			return &w.Off
		}
	case format.KindWaking, format.KindWakeupNew:
		return &w.Woken
	case format.KindStateThread:
		if e.Flags&format.FlagOpen != 0 {
			return &w.Still
		}
	}
	return nil
}

// any reports whether there is a stack.
func (w *Waits) any() bool { return w.Off.WithStack+w.Still.WithStack+w.Woken.WithStack > 0 }

// printWaits prints how many off-CPU intervals and wakeups have a stack.
func (r *Recording) printWaits(out io.Writer) {
	if r.Waits == nil {
		return
	}
	for _, one := range []struct {
		label, what string
		counted     Stacked
		taken       string
	}{
		{"off CPU", "off-CPU intervals", r.Waits.Off, r.offCPUStacks()},
		{"still off", "threads off-CPU at the end", r.Waits.Still, ""},
		{"wakers", "wakeups", r.Waits.Woken, ""},
	} {
		if one.counted.WithStack > 0 {
			fact(out, one.label, "%s of %s %s have a stack%s", cli.Grouped(one.counted.WithStack), cli.Grouped(one.counted.All), one.what, one.taken)
			one.counted.User.print(out, "")
		}
	}
}

// offCPUStacks describes which off-CPU intervals have stacks.
func (r *Recording) offCPUStacks() string {
	for _, kv := range r.Session.GetConfig() {
		if kv.Key == format.ConfigOffCPUStacks && kv.Value != "" {
			return fmt.Sprintf(" (taken %s)", printable.Text(kv.Value))
		}
	}
	return ""
}
