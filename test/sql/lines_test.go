//go:build linux

package sql

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// task is a thread in a line. TID is 0 where there is none, which means an idle thread.
type task struct {
	TID   int64  `json:"tid"`
	PID   int64  `json:"pid"`
	Comm  string `json:"comm"`
	PComm string `json:"pcomm"`
}

// line is any line, with the fields that the questions are about.
type line struct {
	T             string `json:"t"`
	TS            int64  `json:"ts"`
	CPU           *int64 `json:"cpu"`
	Prev          task   `json:"prev"`
	Next          task   `json:"next"`
	PrevState     string `json:"prev_state"`
	PrevPrio      int64  `json:"prev_prio"`
	NextPrio      int64  `json:"next_prio"`
	WakingTS      *int64 `json:"waking_ts"`
	WakingReason  string `json:"waking_reason"`
	OffCPU        *int64 `json:"offcpu_dur"`
	NextState     string `json:"next_state"`
	OffCPUStackID int64  `json:"offcpu_stack_id"`
	WaitClass     string `json:"wait_class"`
	Waker         task   `json:"waker"`
	Wakee         task   `json:"wakee"`
	Task          task   `json:"task"`
	Child         task   `json:"child"`
	StackID       int64  `json:"stack_id"`
	Name          string `json:"name"`
	Group         string `json:"group"`
	Probe         string `json:"utrace_id"`
	Args          struct {
		Error        string `json:"error"`
		File         any    `json:"file"` // a path; of rss, bytes
		Access       string `json:"access"`
		Source       string `json:"source"`
		Destination  string `json:"destination"`
		Transport    string `json:"transport"`
		Bytes        int64  `json:"bytes"`
		Device       string `json:"device"`
		Op           string `json:"op"`
		Queued       int64  `json:"queued"`
		DepthAtStart int64  `json:"depth_at_start"`
		Lock         string `json:"lock"`
		Owner        *task  `json:"owner"`
		Target       task   `json:"target"`
		Signal       string `json:"signal"`
		Result       any    `json:"result"` // a name; of a lock, a number
		Anon         int64  `json:"anon"`
		Swap         int64  `json:"swap"`
		Vector       string `json:"vector"`
		Own          bool   `json:"own"`
		IdleState    int64  `json:"idle_state"`
		Ret          any    `json:"ret"`
	} `json:"args"`

	Version string `json:"version"`
	Dur     *int64 `json:"dur"`
	Lost    *int64 `json:"lost"`

	ID      int64    `json:"id"`
	Frames  []string `json:"frames"`
	Modules []string `json:"modules"`
}

// capture is what the lines of one say.
type capture struct {
	start  int64 // when its window opens, which is in no line
	header line
	stacks map[int64]*line
	events map[string][]*line // by kind
}

// readLines reads the output of wprof-json --time ns.
func readLines(t testing.TB, text []byte, start int64) *capture {
	t.Helper()
	c := &capture{start: start, stacks: make(map[int64]*line), events: make(map[string][]*line)}
	for raw := range bytes.Lines(text) {
		l := new(line)
		if err := json.Unmarshal(raw, l); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		switch {
		case l.Version != "":
			c.header = *l
		case l.T == "":
			c.stacks[l.ID] = l
		default:
			c.events[l.T] = append(c.events[l.T], l)
		}
	}
	return c
}

// functionOf is the function of a frame as it is written, nil if it is not known.
func functionOf(frame string) any {
	_, name, _ := strings.Cut(frame, " ")
	if name == "<unknown>" {
		return nil
	}
	name = strings.TrimSuffix(name, " (inlined)")
	if at := strings.LastIndex(name, "+0x"); at >= 0 {
		if _, err := strconv.ParseUint(name[at+3:], 16, 64); err == nil {
			name = name[:at]
		}
	}
	return name
}
