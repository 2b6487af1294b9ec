//go:build linux

package json

import (
	"bytes"
	enc "encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// lines is an output of wprof-json, parsed.
type lines struct {
	header header
	stacks []stack
	events []event
	// order has for each line after the header what it is: s for a stack, e for an event.
	order []byte
}

type header struct {
	Version, Timestamp string
	Dur                *ns
	StackCount         *int `json:"stack_cnt"`
	Lost               *uint64
	TimeUnit           string `json:"time_unit"`
	Start              string `json:"start_time"`
	Stacks             []string
	Extras             []string
}

type stack struct {
	ID      int64
	Frames  []string
	Srcs    []string
	Modules []string
}

// ns is a time. As seconds it has nine decimals.
type ns int64

func (n *ns) UnmarshalJSON(text []byte) error {
	whole, rest, hasPoint := strings.Cut(string(text), ".")
	if hasPoint && len(rest) != 9 {
		return fmt.Errorf("%s has not nine decimals", text)
	}
	v, err := strconv.ParseInt(whole+rest, 10, 64)
	*n = ns(v)
	return err
}

type task struct {
	TID         *int
	PID         int
	Comm, PComm string
	OldComm     *string `json:"old_comm"`
}

// tid is 0 of the idle thread.
func (k *task) tid() int {
	if k == nil || k.TID == nil {
		return 0
	}
	return *k.TID
}

// event has the fields of all kinds.
type event struct {
	TS       ns
	T        string
	CPU      *int
	Task     *task
	Child    *task
	Prev     *task
	Next     *task
	Waker    *task
	Wakee    *task
	Filename *string
	OldTID   *int `json:"old_tid"`

	ExitCode   *int   `json:"exit_code"`
	ExitSignal *int   `json:"exit_signal"`
	PrevState  string `json:"prev_state"`
	PrevPrio   *int   `json:"prev_prio"`
	NextPrio   *int   `json:"next_prio"`
	derived
	StackID      *int64 `json:"stack_id"`
	WakerStackID *int64 `json:"waker_stack_id"`
	Dur          *ns
	StartTS      *ns `json:"start_ts"`
	Count        *uint64
	Cause, What  string
	Open         string
	UtraceID     string `json:"utrace_id"`
	Name         string
	Args         map[string]any
}

// derived is what a switch shows about the time that next was off the CPU.
type derived struct {
	WakingTS      *ns    `json:"waking_ts"`
	WakingReason  string `json:"waking_reason"`
	WakingCPU     *int   `json:"waking_cpu"`
	WakingContext string `json:"waking_context"`
	OffCPU        *ns    `json:"offcpu_dur"`
	NextState     string `json:"next_state"`
	OffCPUStackID *int64 `json:"offcpu_stack_id"`
	WaitClass     string `json:"wait_class"`
	WaitCall      string `json:"wait_call"`
	WaitFD        *int   `json:"wait_fd"`
	WaitFile      string `json:"wait_file"`
	WaitPeer      string `json:"wait_peer"`
	Futex         uint64 `json:"futex"`
	LockOwner     int    `json:"lock_owner"`
	Delay         *ns    `json:"compound_delay"`
	Chain         *int   `json:"compound_chain_len"`
}

// readLines parses an output. It has every field, so that a new one makes it fail.
func readLines(t *testing.T, out []byte) (l lines) {
	t.Helper()
	for line := range bytes.Lines(out) {
		if l.header.Version == "" {
			if err := enc.Unmarshal(line, &l.header); err != nil || l.header.Version == "" {
				t.Fatalf("the first line is %s: %v", line, err)
			}
			continue
		}
		var err error
		if bytes.HasPrefix(line, []byte(`{"id":`)) {
			l.order = append(l.order, 's')
			l.stacks = append(l.stacks, stack{})
			err = strictly(line, &l.stacks[len(l.stacks)-1])
		} else {
			l.order = append(l.order, 'e')
			l.events = append(l.events, event{})
			err = strictly(line, &l.events[len(l.events)-1])
		}
		if err != nil {
			t.Fatalf("line %d is %s: %v", len(l.order)+1, line, err)
		}
	}
	return l
}

func strictly(line []byte, to any) error {
	d := enc.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// stackIDs are the stacks that an event names.
func (e *event) stackIDs() (ids []int64) {
	for _, id := range []*int64{e.StackID, e.WakerStackID, e.OffCPUStackID} {
		if id != nil {
			ids = append(ids, *id)
		}
	}
	return ids
}

// byKind counts events.
func (l *lines) byKind() map[string]uint64 {
	n := map[string]uint64{}
	for i := range l.events {
		n[l.events[i].T]++
	}
	return n
}
