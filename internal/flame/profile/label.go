package profile

import (
	"hash/maphash"

	"wprof/format"
	"wprof/internal/cmdline"
	"wprof/internal/container"
	"wprof/internal/stacks"
)

// label returns the label of a thread under the definition id; 0: its latest one.
func (c *collector) label(t *thread, id format.TaskID) LabelID {
	if id == 0 {
		if t.Label == 0 {
			t.Label = c.labelOf(t.of.Def)
		}
		return t.Label
	}
	l := c.taskLabel(id)
	if l == 0 {
		return c.label(t, 0)
	}
	t.Label = l
	return l
}

// taskLabel returns the label of a task of the current section; 0 if that is not known.
func (c *collector) taskLabel(id format.TaskID) LabelID {
	if known := c.byTask.Get(uint32(id)); known != 0 {
		return known
	}
	d := c.r.Task(id)
	if id == 0 || d == nil {
		return 0
	}
	l := c.labelOf(d)
	c.byTask.Put(uint32(id), l)
	return l
}

func (c *collector) labelOf(d *format.Task) LabelID {
	l := Label{Comm: stacks.Unnamed, Process: stacks.Unnamed, ProcessComm: stacks.Unnamed}
	switch {
	case len(c.p.Labels) >= c.labelLimit():
		c.p.About.Unnamed++
		return c.internLabel(Label{Comm: MoreThreads, Process: MoreThreads, ProcessComm: MoreThreads})
	case d != nil:
		l = Label{PID: d.Pid, TID: d.Tid, Comm: c.name(d.Comm), ProcessComm: c.name(d.ProcessComm)}
		if len(d.ProcessComm) == 0 {
			l.ProcessComm = l.Comm
		}
		l.Process = c.interner.sharedText(cmdline.OfTask(c.r, d, l.ProcessComm))
	}
	if c.o.Cgroups && d != nil {
		l.SetPlace(c.placeOf(d))
	}
	return c.internLabel(l)
}

// What a label has in place of a cgroup or container.
const (
	UnknownCgroup = "[unknown cgroup]"
	NoContainer   = "[no container]"
)

func (c *collector) placeOf(d *format.Task) Place {
	text := c.r.Text(d.Cgroup)
	if text == nil || !container.IsPath(text.Text) {
		return Place{UnknownCgroup, UnknownCgroup}
	}
	in := Place{c.name(text.Text), NoContainer}
	place := container.Of(string(text.Text))
	if label := place.Label(); label != "" {
		in.Container = c.name([]byte(label))
	}
	return in
}

func (c *collector) name(name []byte) string {
	return c.interner.sharedText(string(stacks.Printable(name, stacks.Unnamed)))
}

// maxLabels bounds the number of labels: a capture of days may have very many processes.
// A page has three names for each.
const (
	maxLabels     = 500_000
	maxPageLabels = 150_000
	MoreThreads   = "[more threads]"
)

func (c *collector) labelLimit() int {
	if c.o.Stretch {
		return maxPageLabels
	}
	return maxLabels
}

func (c *collector) internLabel(l Label) LabelID {
	if !c.o.Threads {
		l.TID = 0
	}
	return c.labels.intern(&c.p.Labels, l)
}

// interned finds the index of a value in a list by the value's hash, in a third of the memory that a map of values takes.
type interned[K comparable, ID ~uint32] struct {
	seed   maphash.Seed
	byHash map[uint64]ID // where another value has the hash: under the next one
}

func newInterned[K comparable, ID ~uint32]() interned[K, ID] {
	return interned[K, ID]{seed: maphash.MakeSeed(), byHash: make(map[uint64]ID)}
}

// intern returns the index of a value, which it appends if it is new.
func (n *interned[K, ID]) intern(all *[]K, value K) ID {
	for hash := maphash.Comparable(n.seed, value); ; hash++ {
		id, found := n.byHash[hash]
		if !found {
			id = ID(len(*all))
			*all = append(*all, value)
			n.byHash[hash] = id
		}
		if !found || (*all)[id] == value {
			return id
		}
	}
}
