//go:build linux

package damage

import (
	"bytes"
	"encoding/json"
	"fmt"

	"wprof/format"
)

// jsonLine is what is looked at of a line of JSON.
type jsonLine struct {
	Version string
	Count   *int   `json:"stack_cnt"`
	ID      *int64 `json:"id"`
	T       string
	Cause   string
	StackID *int64 `json:"stack_id"`
	OffCPU  *int64 `json:"offcpu_stack_id"`
	Waker   *int64 `json:"waker_stack_id"`
}

// checkLines checks lines of JSON that must be whole, report a loss wherever events are missing, have every event of all
// whole blocks, and a line for each stack that one of them names.
func checkLines(c *captured, r *expected, out []byte) string {
	var head jsonLine
	got, ids, damages := map[string]int{}, map[int64]bool{}, 0
	for line := range bytes.Lines(out) {
		var l jsonLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Sprintf("%v: %s", err, line)
		}
		switch {
		case head.Version == "":
			head = l
		case l.T == "":
			if l.ID == nil || ids[*l.ID] {
				return fmt.Sprintf("not a stack, or one that stands there twice: %s", line)
			}
			ids[*l.ID] = true
		default:
			switch {
			case l.T == "gap": // no event: it follows from what is left of the windows
			case l.Cause == "damage":
				damages++
			default:
				got[l.T]++
			}
			for _, id := range []*int64{l.StackID, l.OffCPU, l.Waker} {
				if id != nil && !ids[*id] {
					return fmt.Sprintf("stack %d has no line: %s", *id, line)
				}
			}
		}
	}
	if head.Version == "" {
		return "there is no header"
	}
	if head.Count != nil && *head.Count != len(ids) {
		return fmt.Sprintf("stack_cnt is %d, there are %d lines of stacks", *head.Count, len(ids))
	}
	if want := r.gaps(c.pieces); damages < want {
		return fmt.Sprintf("the lines report damage %d times, but events are missing in %d places", damages, want)
	}
	want := map[string]int{}
	for _, e := range eventsOf(r.whole) {
		if name := lineOf(&e); name != "" && !isDamage(&e) {
			want[name]++
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("lines by kind %v, want %v", got, want)
	}
	return ""
}

// lineOf is the kind of the line that an event becomes; "": it has none.
func lineOf(e *format.Event) string {
	return map[format.Kind]string{
		format.KindSwitch: "switch", format.KindWaking: "waking", format.KindWakeupNew: "wakeup_new", format.KindSample: "timer",
		format.KindFork: "fork", format.KindExec: "exec", format.KindRename: "task_rename", format.KindExit: "task_exit",
		format.KindFree: "task_free", format.KindLost: "lost",
	}[e.Kind]
}

// checkJSON checks what must be one value of JSON.
func checkJSON(_ *captured, _ *expected, out []byte) string {
	if !json.Valid(out) {
		return fmt.Sprintf("it is no JSON; it ends in %q", out[max(0, len(out)-80):])
	}
	return ""
}
