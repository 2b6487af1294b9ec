package chrome

import (
	"strconv"

	"wprof/internal/bounded"
	"wprof/internal/records"
)

// track is the row of a thread. Tools have one for each tid, so a thread with a reused tid continues in the row of the
// earlier one, which then has the name of the last.
type track struct {
	place []byte // `"pid":12,"tid":34,"ts":`
	pid   int32
	named *task // the task with the last written name
}

// maxKnown bounds the entries of each cache.
const maxKnown = 1 << 15

// place identifies a row.
type place struct{ pid, tid int32 }

// named is the name and the command line that were written for a process.
type named struct {
	name, command string
	byLeader      bool
}

// threadRows holds the rows of threads. Those that a section does not use are dropped, so that memory does not grow with the length
// of the stream; their names are written again when they are needed.
type threadRows struct {
	byPlace   *bounded.Map[place, *track]
	processes *bounded.Map[int32, named]
}

func newThreadRows() threadRows {
	return threadRows{byPlace: bounded.NewMap[place, *track](maxKnown), processes: bounded.NewMap[int32, named](maxKnown)}
}

func (t *threadRows) newSection() {
	t.byPlace.Age()
	t.processes.Age()
}

// trackOf returns the row of a thread, and writes its name if that has changed.
func (c *conversion) trackOf(k *task) *track {
	tr := c.row(k)
	if tr.named != k {
		c.introduce(tr, k)
	}
	return tr
}

// row returns the row of a thread under any name.
func (c *conversion) row(k *task) *track {
	if k.row == nil {
		k.row = c.track(place{k.pid, k.tid})
	}
	return k.row
}

func (c *conversion) track(at place) *track {
	tr, found := c.rows.byPlace.Get(at)
	if !found {
		text := strconv.AppendInt([]byte(`"pid":`), int64(at.pid), 10)
		text = strconv.AppendInt(append(text, `,"tid":`...), int64(at.tid), 10)
		tr = &track{place: append(text, `,"ts":`...), pid: at.pid}
		c.rows.byPlace.Put(at, tr)
	}
	return tr
}

// introduce writes a thread's name and that of its process.
func (c *conversion) introduce(tr *track, k *task) {
	if tr.named == nil || tr.named.comm != k.comm {
		c.metadata("thread_name", int64(tr.pid), int64(k.tid), "name", k.comm)
	}
	tr.named = k
	before, known := c.rows.processes.Get(tr.pid)
	now := named{k.process, k.command, k.tid == k.pid}
	if known && (before == now || before.byLeader && !now.byLeader) {
		return
	}
	c.rows.processes.Put(tr.pid, now)
	if before.name != now.name {
		c.metadata("process_name", int64(tr.pid), 0, "name", now.name)
	}
	if before.command != now.command {
		c.metadata("process_labels", int64(tr.pid), 0, "labels", now.command)
	}
	if k.kernel && !known {
		c.sortIndex("process_sort_index", int64(tr.pid), 0, 1)
	}
}

// metadata writes a text about a process, or, with a tid, about a thread.
func (c *conversion) metadata(what string, pid, tid int64, key, value string) {
	b := c.beginMetadata(what, pid, tid)
	b = append(append(append(b, '"'), key...), `":`...)
	c.out.b = append(records.AppendString(b, value), "}}"...)
}

// sortIndex writes the position of a process or thread among the others.
func (c *conversion) sortIndex(what string, pid, tid, rank int64) {
	b := append(c.beginMetadata(what, pid, tid), `"sort_index":`...)
	c.out.b = append(strconv.AppendInt(b, rank, 10), "}}"...)
}

func (c *conversion) beginMetadata(what string, pid, tid int64) []byte {
	b := append(append(c.out.next(), `{"ph":"M","name":"`...), what...)
	b = strconv.AppendInt(append(b, `","pid":`...), pid, 10)
	if tid != 0 {
		b = strconv.AppendInt(append(b, `,"tid":`...), tid, 10)
	}
	return append(b, `,"args":{`...)
}
