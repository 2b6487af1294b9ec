package flame

import (
	"time"

	"wprof/format"
)

// builder makes profiles by hand.
type builder struct {
	*Profile
	nodes map[Node]NodeID
	named map[string]FrameID
}

func newBuilder() *builder {
	b := &builder{
		Profile: &Profile{Frames: make([]Frame, 1), Nodes: make([]Node, 1), Labels: make([]Label, 1), Wakes: make([]Wake, 1)},
		nodes:   make(map[Node]NodeID), named: make(map[string]FrameID),
	}
	b.About = About{Host: "box", Kernel: "6.18.0", Start: time.Unix(1e9, 0), Window: 1e9, Sources: []Source{{"timer", 1e7}}}
	return b
}

func (b *builder) frame(f Frame) FrameID {
	b.Frames = append(b.Frames, f)
	return FrameID(len(b.Frames) - 1)
}

// function is the frame of a function of /bin/box; in the kernel with a name that begins with k_; a note in brackets.
func (b *builder) function(name string) FrameID {
	id := b.named[name]
	if id == 0 {
		f := Frame{Functions: []Function{{Name: name}}, Module: "/bin/box", BuildID: "b0", Offset: uint64(0x1000 + 16*len(b.Frames))}
		switch {
		case name[0] == '[':
			f = Frame{Functions: f.Functions, Note: true}
		case len(name) > 2 && name[:2] == "k_":
			f.Module, f.BuildID, f.Kernel = "[kernel]", "e0", true
		default:
			f.Functions[0].File, f.Functions[0].Line = "box.c", uint32(len(b.Frames))
		}
		id = b.frame(f)
		b.named[name] = id
	}
	return id
}

// stack is one of frames, outermost first.
func (b *builder) stack(frames ...FrameID) (id NodeID) {
	for _, f := range frames {
		n := Node{Parent: id, Frame: f}
		id = b.nodes[n]
		if id == 0 {
			b.Nodes = append(b.Nodes, n)
			id = NodeID(len(b.Nodes) - 1)
			b.nodes[n] = id
		}
	}
	return id
}

// calls is the stack of functions by name, outermost first.
func (b *builder) calls(names ...string) NodeID {
	var frames []FrameID
	for _, name := range names {
		frames = append(frames, b.function(name))
	}
	return b.stack(frames...)
}

func (b *builder) thread(pid, tid int32, comm string, cells ...Cell) *Thread {
	b.Labels = append(b.Labels, Label{PID: pid, TID: tid, Comm: comm, Process: comm})
	t := &Thread{PID: pid, TID: tid, Label: LabelID(len(b.Labels) - 1)}
	for _, c := range cells {
		c.Label = t.Label
		t.Lifetime += c.Ns
		t.Cells = append(t.Cells, c)
	}
	b.Threads = append(b.Threads, t)
	return t
}

func cell(class Class, state format.State, stack NodeID, ns int64, count uint64) Cell {
	return Cell{CellKey: CellKey{Class: class, State: state, CPU: NoCPU, Stack: stack}, Ns: ns, Count: count}
}

// box is a process of two threads: one works and waits, the other one serves.
func box() *builder {
	b := newBuilder()
	on := b.calls("main", "work", "spin")
	lock := b.calls("main", "work", "lock", "k_futex", "k_schedule")
	b.thread(10, 10, "box",
		cell(ClassOnCPU, 0, on, 300e6, 30),
		cell(ClassOnCPU, 0, b.calls("main", "[not sampled]"), 1e6, 0),
		cell(ClassBlocked, format.StateInterruptible, lock, 400e6, 7),
		cell(ClassBlocked, format.StateUninterruptible, b.calls("main", "save", "k_fsync"), 100e6, 3),
		cell(ClassRunnable, 0, lock, 9e6, 7),
		cell(ClassPreempted, 0, on, 90e6, 2),
		cell(ClassUnknown, 0, 0, 100e6, 1),
	)
	serve := b.calls("start_thread", "serve", "k_epoll_wait")
	c := cell(ClassOnCPU, 0, b.calls("start_thread", "serve", "answer"), 50e6, 5)
	c.CPU = 0
	b.thread(10, 11, "server", c,
		cell(ClassIdle, format.StateInterruptible, serve, 900e6, 12),
		cell(ClassRunnable, 0, serve, 1e6, 12),
		cell(ClassNew, 0, 0, 49e6, 1),
	)
	return b
}
