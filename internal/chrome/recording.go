package chrome

import (
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// recording holds the rows for losses and for the times between windows: one for each CPU and one for all.
type recording struct {
	until map[int64]int64 // end of the last slice of a row, CLOCK_MONOTONIC ns
}

// Note implements [tracks.Encoder]. Slices of a row must not overlap, so each begins at the earliest where the one before ends;
// the arguments have its true length. Late events are not shown.
func (c *conversion) Note(n *tracks.Note) {
	if n.Kind == tracks.Late {
		return
	}
	tid := c.noteRow(known(n.CPU))
	from := max(n.From, c.recording.until[tid], c.first)
	to := max(from, n.To)
	c.recording.until[tid] = to
	b := records.AppendString(append(c.out.next(), `{"ph":"X","cat":"recording","name":`...), n.Name)
	b = strconv.AppendInt(append(b, `,"pid":`...), recordingPID, 10)
	b = append(strconv.AppendInt(append(b, `,"tid":`...), tid, 10), `,"ts":`...)
	b = append(appendMicros(b, from-c.first), `,"dur":`...)
	b = append(appendLength(b, to-from), `,"args":{`...)
	if n.Cause != "" {
		b = append(records.AppendString(append(b, `"cause":`...), n.Cause), ',')
	}
	b = appendMicros(append(b, `"length_us":`...), n.To-n.From)
	if n.Count != 0 {
		b = strconv.AppendUint(append(b, `,"count":`...), n.Count, 10)
	}
	c.out.b = append(b, "}}"...)
}

func (c *conversion) noteRow(cpu uint32) int64 {
	tid := lostOn(cpu)
	if _, found := c.recording.until[tid]; found {
		return tid
	}
	if len(c.recording.until) == 0 {
		c.metadata("process_name", recordingPID, 0, "name", "Recording")
		c.sortIndex("process_sort_index", recordingPID, 0, -2)
	}
	c.recording.until[tid] = c.first
	name := "all CPUs"
	if cpu != format.AllCPUs {
		name = "CPU " + strconv.FormatUint(uint64(cpu), 10)
	}
	c.metadata("thread_name", recordingPID, tid, "name", name)
	return tid
}
