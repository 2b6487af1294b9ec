package chrome

import (
	"fmt"
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// The slices of a row lie end to end, because a thread's spans do: no two overlap.

// Slice implements [tracks.Encoder]. Nearly all of a trace is written here: see BenchmarkWrite.
func (c *conversion) Slice(s *tracks.Slice) {
	if s.Task.Idle {
		return
	}
	k := c.task(s.Task)
	tr := c.trackOf(k)
	switch s.Kind {
	case timeline.SpanRunning:
		c.ran(tr, k, s)
	case timeline.SpanRunnable:
		c.waited(tr, s)
	case timeline.SpanBlocked:
		c.blocked(tr, s)
	}
}

// begin writes a slice up to its times; its arguments follow.
func (c *conversion) begin(name string, tr *track, s *tracks.Slice) []byte {
	b := append(append(c.out.next(), `{"ph":"X","cat":"thread","name":`...), name...)
	return c.times(append(append(b, ','), tr.place...), s)
}

// times appends when a span begins and how long it lasts.
func (c *conversion) times(b []byte, s *tracks.Slice) []byte {
	b = append(appendMicros(b, s.From-c.first), `,"dur":`...)
	return appendLength(b, s.To-s.From)
}

// ran draws a time on a CPU: in the row of the thread, and in that of the CPU.
func (c *conversion) ran(tr *track, k *task, s *tracks.Slice) {
	row := c.cpu(s.CPU)
	b := c.begin(`"Running"`, tr, s)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(s.CPU), 10)
	b = strconv.AppendInt(append(b, `,"prio":`...), int64(s.Prio), 10)
	if row != nil {
		b = append(b, row.node...)
	}
	b = c.before(b, s)
	if s.Open {
		b = append(b, `,"open":true`...)
	} else if s.Left != 0 || s.Next != 0 {
		b = append(append(append(b, `,"left":"`...), c.stateName(s.Left)...), '"')
	}
	c.out.b = append(b, "}}"...)
	if row != nil {
		c.occupied(row, k, s)
	}
	c.arrives(tr, s)
}

// occupied draws a time on a CPU in the row of the CPU.
func (c *conversion) occupied(row *cpuRow, k *task, s *tracks.Slice) {
	b := append(append(c.out.next(), `{"ph":"X","cat":"cpu",`...), k.onCPU...)
	b = append(c.times(append(b, row.place...), s), k.onCPUEnd...)
	c.out.b = append(strconv.AppendInt(append(b, `,"prio":`...), int64(s.Prio), 10), "}}"...)
}

// before appends the time off the CPU before a slice on it.
func (c *conversion) before(b []byte, s *tracks.Slice) []byte {
	off := &s.Off
	if off.New {
		b = append(b, `,"new":true`...)
	} else if off.Known {
		b = appendMicros(append(b, `,"off_us":`...), s.OffNs())
		b = append(append(append(b, `,"was":"`...), c.stateName(s.State)...), '"')
	}
	return c.delay(c.waker(b, s), off)
}

// delay appends how long a thread was runnable before it ran.
func (c *conversion) delay(b []byte, off *timeline.OffCPU) []byte {
	if off.Woken == 0 && !(off.Preempted && off.Known) {
		return b
	}
	b = appendMicros(append(b, `,"delay_us":`...), off.Delay)
	if off.Compound != off.Delay || off.Chain > 1 {
		b = appendMicros(append(b, `,"compound_delay_us":`...), off.Compound)
		b = strconv.AppendUint(append(b, `,"chain":`...), uint64(off.Chain), 10)
	}
	return b
}

// waker appends the waker of a thread, if known.
func (c *conversion) waker(b []byte, s *tracks.Slice) []byte {
	if s.Waker != nil {
		b = append(append(append(b, `,"waker":"`...), c.task(s.Waker).label...), '"')
	}
	b = appendContext(b, s.Off.WokenIRQ)
	if s.WakingInterrupt != "" {
		b = records.AppendString(append(b, `,"waking_interrupt":`...), c.texts.Clip([]byte(s.WakingInterrupt)))
	}
	return b
}

// waited draws a time in which a thread was runnable.
func (c *conversion) waited(tr *track, s *tracks.Slice) {
	name := `"Runnable"`
	if s.Off.Throttled {
		name = `"Runnable (throttled)"`
	} else if s.Off.Preempted && s.State&format.StatePreempted != 0 {
		name = `"Runnable (preempted)"`
	}
	b := c.begin(name, tr, s)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(s.CPU), 10)
	b = strconv.AppendInt(append(b, `,"prio":`...), int64(s.Prio), 10)
	b = c.waker(b, s)
	if s.Open {
		b = append(b, `,"open":true`...)
	}
	c.out.b = append(b, "}}"...)
}

// blocked draws a time in which a thread was blocked.
func (c *conversion) blocked(tr *track, s *tracks.Slice) {
	of, wait := c.stackOf(s.Stack), c.waitOf(s.Wait)
	b := c.begin(wait.name, tr, s)
	b = append(append(b, `,"args":{"state":"`...), c.stateName(s.State)...)
	b = strconv.AppendInt(append(b, `","prio":`...), int64(s.Prio), 10)
	b = append(b, wait.args...)
	if s.SinceKnown && s.Since < s.From {
		b = appendMicros(append(b, `,"length_us":`...), s.To-s.Since)
	}
	if s.Open {
		b = append(b, `,"open":true`...)
	}
	c.out.b = append(of.endArgs(b), '}')
}

// waitText holds the texts of a wait.
type waitText struct {
	name string // of its slice, as a JSON string
	args string // members of args; each begins with a comma
}

func (c *conversion) waitOf(of *tracks.Wait) *waitText {
	if known, found := of.Own.(*waitText); found {
		return known
	}
	t := &waitText{name: quoted(of.Name)}
	for _, one := range [...]struct{ name, text string }{{"wait_class", of.ClassName()}, {"wait_file", of.File()}, {"wait_peer", of.Peer()}} {
		if one.text != "" {
			t.args += `,"` + one.name + `":` + quoted(c.texts.Clean([]byte(one.text)))
		}
	}
	if d := of.Def; d.GetIsFutex() {
		t.args += `,"futex":` + quoted(fmt.Sprintf("%#x", d.Futex))
	}
	of.Own = t
	return t
}

// stateText holds the text of a state.
type stateText struct{ name string }

func (c *conversion) state(s format.State) stateText {
	if known, found := c.states[s]; found {
		return known
	}
	text := stateText{name: s.String()}
	if len(c.states) < 1<<12 { // all that are; a hostile stream may have more
		c.states[s] = text
	}
	return text
}

func (c *conversion) stateName(s format.State) string {
	switch s {
	case format.StateInterruptible:
		return "S"
	case format.StatePreempted:
		return "R+"
	}
	return c.state(s).name
}
