package flamehtml

import (
	"fmt"
	"math/rand/v2"
	"time"

	"wprof/format"
	"wprof/internal/flame/profile"
	"wprof/internal/waits"
)

// sample describes a made-up profile.
type sample struct {
	threads, stacks, depth, functions int
	cells                             int // of a thread
	slots                             int
	asleep                            float64 // share of time off the CPU
	plain                             bool    // without CPUs, wakers and several places in a function
}

// profile is one in which each thread's time adds up, whatever is drawn from the random numbers, which are always the same.
func (s sample) profile() *profile.Profile {
	m := &sampleMaker{sample: s, random: rand.New(rand.NewPCG(1, 2))}
	m.p = &profile.Profile{
		Slot: int64(100 * time.Millisecond), Slots: s.slots,
		Frames: make([]profile.Frame, 1), Nodes: make([]profile.Node, 1), Labels: make([]profile.Label, 1), Wakes: make([]profile.Wake, 1),
		Objects: []string{"", "recv 10.0.0.3:5432", "lock 0x7f3a5c0010c0 of 12", "data/stock.db"},
	}
	span := m.p.Slot * int64(s.slots)
	m.p.About = profile.About{
		Host: "build-7.example.net", Start: time.Date(2026, 3, 9, 14, 5, 0, 0, time.UTC), Window: span, Span: span,
		Sources: []profile.Source{{Name: "timer", Period: 10101010}}, UserStacks: 40000, CutStacks: 130, OffCPU: "times off of 1 ms or more",
	}
	m.frames()
	m.nodes()
	for i := range s.threads {
		m.thread(i)
	}
	return m.p
}

type sampleMaker struct {
	sample
	p      *profile.Profile
	random *rand.Rand
	leaves []profile.NodeID
	own    []profile.NodeID // those of the process
}

func (m *sampleMaker) frames() {
	for i := range m.functions {
		f := profile.Frame{Functions: []profile.Function{{Name: m.function(i)}}, Module: "/usr/lib/libengine.so.4"}
		switch {
		case i%7 == 3:
			f.Kernel, f.Module, f.Functions[0].Name = true, "[kernel]", "__x64_"+f.Functions[0].Name
		case i%7 == 5 && !m.plain:
			f.Functions = append(f.Functions, profile.Function{Name: m.function(i) + "_inlined"})
		case i%7 == 6 && !m.plain:
			f.Functions[0].Name = m.function(i - 1) // another place in it
		}
		m.p.Frames = append(m.p.Frames, f)
	}
}

func (m *sampleMaker) function(i int) string {
	parts := []string{"parse", "index", "write", "merge", "compress", "lookup", "commit", "schedule", "flush", "decode"}
	name := fmt.Sprintf("%s_%s_%d", parts[i%10], parts[i/10%10], i)
	if i%3 == 0 {
		return fmt.Sprintf("engine::%s::%s<std::shared_ptr<engine::Row>>::operator()(int) const", parts[i/10%10], name)
	}
	return name
}

// nodes grow stacks as programs do: most share their outer frames, and kernel frames are innermost.
func (m *sampleMaker) nodes() {
	var kernel, user []profile.FrameID
	for i := range m.p.Frames[1:] {
		if m.p.Frames[i+1].Kernel {
			kernel = append(kernel, profile.FrameID(i+1))
		} else {
			user = append(user, profile.FrameID(i+1))
		}
	}
	path := []profile.NodeID{0}
	for range m.stacks {
		depth := 2 + m.random.IntN(m.depth)
		if keep := 1 + m.random.IntN(len(path)); keep < depth {
			path = path[:keep]
		} else {
			path = path[:min(depth, len(path))]
		}
		for len(path) < depth {
			from := user
			if len(path) > depth*3/4 && len(kernel) > 0 {
				from = kernel
			}
			m.p.Nodes = append(m.p.Nodes, profile.Node{Parent: path[len(path)-1], Frame: from[m.random.IntN(len(from))]})
			path = append(path, profile.NodeID(len(m.p.Nodes)-1))
		}
		m.leaves = append(m.leaves, path[len(path)-1])
		for len(path) > 1 && m.p.Frames[m.p.Nodes[path[len(path)-1]].Frame].Kernel {
			path = path[:len(path)-1]
		}
	}
}

// thread fills its slots: each has some of its cells, and a long wait for the rest.
func (m *sampleMaker) thread(i int) {
	pid := int32(1000 + i/12*100)
	share := max(1, len(m.leaves)*12/m.threads)
	first := min(i/12*share, len(m.leaves)-1)
	m.own = m.leaves[first:min(first+share, len(m.leaves))]
	l := profile.Label{PID: pid, TID: pid + int32(i%12), Comm: fmt.Sprintf("worker-%d", i%12), Process: fmt.Sprintf("server%d", i/12)}
	l.SetPlace(profile.Place{Cgroup: fmt.Sprintf("/unit%d", i%5), Container: fmt.Sprintf("docker:%d", i%3)})
	m.p.Labels = append(m.p.Labels, l)
	label := profile.LabelID(len(m.p.Labels) - 1)
	t := &profile.Thread{TID: l.TID, PID: pid, Label: label, Lifetime: m.p.About.Span}
	wait := profile.Cell{CellKey: profile.CellKey{Class: profile.ClassIdle, State: format.StateInterruptible, CPU: profile.NoCPU, Label: label, Stack: m.leaf()}, Count: 9}
	has := map[profile.CellKey]bool{wait.CellKey: true}
	for range m.cells {
		if key := m.key(label); !has[key] {
			has[key] = true
			t.Cells = append(t.Cells, profile.Cell{CellKey: key})
		}
	}
	for slot := range uint32(m.slots) {
		rest := m.p.Slot
		for n := 1 + m.random.IntN(4); n > 0; n-- {
			c := &t.Cells[m.random.IntN(len(t.Cells))]
			most := float64(rest) * m.random.Float64()
			if c.Class == profile.ClassOnCPU {
				most *= 1 - m.asleep
			}
			put(c, slot, int64(most))
			rest -= int64(most)
		}
		put(&wait, slot, rest)
	}
	t.Cells = append(t.Cells, wait)
	for j := range t.Cells {
		if t.Cells[j].Class == profile.ClassOnCPU {
			m.p.About.Samples += t.Cells[j].Count
		}
	}
	m.p.Threads = append(m.p.Threads, t)
}

// put adds time to a slot; slots are filled in order.
func put(c *profile.Cell, slot uint32, ns int64) {
	if ns == 0 {
		return
	}
	c.Ns += ns
	n := 1 + uint64(ns)/10101010
	if c.Class.Delay() {
		c.Waits += n
	}
	if c.Class == profile.ClassRunnable {
		n /= 2 // the other half follow blocks
	}
	c.Count += n
	if n := len(c.Slots); n > 0 && c.Slots[n-1].Slot == slot {
		c.Slots[n-1].Ns += ns
		return
	}
	c.Slots = append(c.Slots, profile.SlotTime{Slot: slot, Ns: ns})
}

// leaf is a stack of the process: programs have little in common.
func (m *sampleMaker) leaf() profile.NodeID { return m.own[m.random.IntN(len(m.own))] }

func (m *sampleMaker) key(label profile.LabelID) profile.CellKey {
	k := profile.CellKey{Class: profile.ClassOnCPU, CPU: profile.NoCPU, Label: label, Stack: m.leaf()}
	if !m.plain {
		k.CPU = uint32(m.random.IntN(11))
	}
	switch m.random.IntN(12) {
	case 0:
		k.Class, k.Stack = profile.ClassUnknown, 0
	case 1:
		k.Class = profile.ClassRunnable
	case 2:
		k.Class = profile.ClassPreempted
	case 3, 4:
		k.Class, k.State = profile.ClassBlocked, format.StateUninterruptible
	case 5, 6:
		k.Class, k.State = profile.ClassBlocked, format.StateInterruptible
	case 7:
		k.Class, k.Stack = profile.ClassNew, 0
	}
	if k.Class == profile.ClassBlocked {
		k.Wait.Class, k.Object = waits.Class(m.random.IntN(waits.Count)), profile.ObjectID(m.random.IntN(len(m.p.Objects)))
	}
	if k.Class.OffCPU() && !m.plain && m.random.IntN(3) > 0 {
		k.Wake = m.wake(label)
	}
	return k
}

func (m *sampleMaker) wake(label profile.LabelID) profile.WakeID {
	w := profile.Wake{Label: label * profile.LabelID(m.random.IntN(2)), Stack: m.leaf()}
	if n := len(m.p.Wakes); n > 1 && m.random.IntN(2) > 0 {
		w.Before = profile.WakeID(1 + m.random.IntN(n-1))
	}
	m.p.Wakes = append(m.p.Wakes, w)
	return profile.WakeID(len(m.p.Wakes) - 1)
}
