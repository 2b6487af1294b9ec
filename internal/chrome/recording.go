package chrome

import (
	"strconv"

	"wprof/format"
	"wprof/internal/records"
)

// recording are the rows of what is known of the recording itself: what was lost, and the time between recordings. There
// is one for each CPU and one for all.
type recording struct {
	until map[int64]int64 // end of the last slice of a row, CLOCK_MONOTONIC ns
}

// lostEvents draws a loss, from when it may have begun to when it was told. Slices of a row must not overlap, so it begins at
// the earliest where the one before ends; the arguments tell its true length.
func (c *conversion) lostEvents(v *format.Event) {
	l := v.Lost()
	cause, found := l.Cause().Name()
	if !found {
		cause = "unknown cause"
	}
	what := c.kindNames[l.What()]
	name := "lost: " + cause
	if what != "" {
		name = "lost " + what + ": " + cause
	}
	c.note(known(v.CPU), l.From(), v.Time, name, func(b []byte) []byte {
		b = append(records.AppendString(append(b, `"cause":`...), cause), `,"length_us":`...)
		b = appendMicros(b, max(0, v.Time-l.From()))
		if l.Count() != 0 {
			b = strconv.AppendUint(append(b, `,"count":`...), l.Count(), 10)
		}
		return b
	})
}

// notRecorded draws the time between two recordings.
func (c *conversion) notRecorded(from, to int64) {
	c.note(format.AllCPUs, from, to, "not recorded", func(b []byte) []byte {
		return appendMicros(append(b, `"length_us":`...), max(0, to-from))
	})
}

func (c *conversion) note(cpu uint32, from, to int64, name string, args func([]byte) []byte) {
	tid := c.noteRow(cpu)
	from = max(from, c.recording.until[tid], c.first)
	to = max(from, to)
	c.recording.until[tid] = to
	b := records.AppendString(append(c.out.next(), `{"ph":"X","cat":"recording","name":`...), name)
	b = strconv.AppendInt(append(b, `,"pid":`...), recordingPID, 10)
	b = append(strconv.AppendInt(append(b, `,"tid":`...), tid, 10), `,"ts":`...)
	b = append(appendMicros(b, from-c.first), `,"dur":`...)
	b = append(appendLength(b, to-from), `,"args":{`...)
	c.out.b = append(args(b), "}}"...)
}

func (c *conversion) noteRow(cpu uint32) int64 {
	tid := lostOn(cpu)
	if _, told := c.recording.until[tid]; told {
		return tid
	}
	if len(c.recording.until) == 0 {
		c.metadata("process_name", recordingPID, 0, "name", "Recording")
		c.sorted("process_sort_index", recordingPID, 0, -2)
	}
	c.recording.until[tid] = c.first
	name := "all CPUs"
	if cpu != format.AllCPUs {
		name = "CPU " + strconv.FormatUint(uint64(cpu), 10)
	}
	c.metadata("thread_name", recordingPID, tid, "name", name)
	return tid
}
