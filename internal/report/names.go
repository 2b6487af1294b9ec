package report

import (
	"fmt"
	"strings"

	"wprof/format"
	"wprof/internal/cmdline"
	"wprof/internal/stacks"
	"wprof/internal/waits"
)

// names interns texts. It is bounded: a new text beyond the limit is replaced by one for all the others.
type names struct {
	r    *format.Reader
	ids  map[string]uint32
	text []string
	size int
}

const (
	maxNameBytes = 16 << 20
	otherNames   = "[others]"
)

func newNames(r *format.Reader) names {
	return names{r: r, ids: map[string]uint32{"": 0}, text: []string{""}}
}

// id returns the number of a text; 0: the empty one.
func (n *names) id(text string) uint32 {
	if id, found := n.ids[text]; found {
		return id
	}
	if n.size > maxNameBytes && text != otherNames {
		return n.id(otherNames)
	}
	text = strings.Clone(text)
	id := uint32(len(n.text))
	n.ids[text] = id
	n.text = append(n.text, text)
	n.size += len(text) + 64
	return id
}

// objectID is the object of a wait, by class.
type objectID struct {
	class waits.Class
	known bool
	name  uint32
}

// objectOf returns the object of a wait, as [waits.Object] names it.
func (c *Collector) objectOf(class waits.Class, id format.WaitID) uint32 {
	if id == 0 {
		return 0
	}
	known := c.byWait.Get(uint32(id))
	if !known.known || known.class != class {
		known = objectID{class, true, c.names.id(waits.Object(class, c.r.Wait(id)))}
		c.byWait.Put(uint32(id), known)
	}
	return known.name
}

// who is a thread under one name.
type who struct {
	pid, tid, ppid int32
	comm           uint32 // the thread's name
	process        uint32 // the short label of its process's command line
	processComm    uint32
	cgroup         uint32 // its path
	kernel, idle   bool
	isSelected     bool
	text           string // see names.thread
}

// whoIs returns the thread of a task of the current section; one without names if it is not known.
func (c *Collector) whoIs(id format.TaskID) *who {
	if known := c.byTask.Get(uint32(id)); known != nil {
		return known
	}
	w := c.describe(c.r.Task(id))
	if id != 0 {
		c.byTask.Put(uint32(id), w)
	}
	return w
}

func (c *Collector) describe(d *format.Task) *who {
	if d == nil || d.IsLost() {
		return &who{}
	}
	text := func(name []byte) string { return string(stacks.Printable(name, stacks.Unnamed)) }
	comm := text(d.Comm)
	process := comm
	if len(d.ProcessComm) > 0 {
		process = text(d.ProcessComm)
	}
	cgroup := ""
	if path := c.r.Text(d.Cgroup); path != nil {
		cgroup = text(path.Text)
	}
	return &who{
		cgroup:     c.names.id(cgroup),
		isSelected: c.o.Selector == nil || c.o.Selector.Selects(d), pid: d.Pid, tid: d.Tid, ppid: d.Ppid, comm: c.names.id(comm), process: c.names.id(cmdline.OfTask(c.r, d, process)), processComm: c.names.id(process),
		kernel: d.Flags&uint32(format.TaskFlag_TASK_FLAG_KTHREAD) != 0, idle: d.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) != 0,
	}
}

// thread names a thread: name (tid).
func (n *names) thread(w *who) string {
	switch {
	case w == nil || w.tid == 0 && !w.idle:
		return ""
	case w.idle:
		return "idle CPU"
	}
	if w.text == "" {
		w.text = fmt.Sprintf("%s (%d)", n.text[w.comm], w.tid)
	}
	return w.text
}
