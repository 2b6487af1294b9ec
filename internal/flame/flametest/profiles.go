package flametest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/flame/profile"
)

// Builder makes profiles by hand.
type Builder struct {
	*profile.Profile
	nodes map[profile.Node]profile.NodeID
	named map[string]profile.FrameID
}

func New() *Builder {
	b := &Builder{
		Profile: &profile.Profile{Frames: make([]profile.Frame, 1), Nodes: make([]profile.Node, 1), Labels: make([]profile.Label, 1), Wakes: make([]profile.Wake, 1)},
		nodes:   make(map[profile.Node]profile.NodeID), named: make(map[string]profile.FrameID),
	}
	b.About = profile.About{Host: "box", Kernel: "6.18.0", Start: time.Unix(1e9, 0), Window: 1e9, Sources: []profile.Source{{Name: "timer", Period: 1e7}}}
	return b
}

func (b *Builder) Frame(f profile.Frame) profile.FrameID {
	b.Frames = append(b.Frames, f)
	return profile.FrameID(len(b.Frames) - 1)
}

// Function returns the frame of a function: of the kernel if its name begins with k_, a note if it is in brackets, otherwise of
// /bin/box.
func (b *Builder) Function(name string) profile.FrameID {
	id := b.named[name]
	if id == 0 {
		f := profile.Frame{Functions: []profile.Function{{Name: name}}, Module: "/bin/box", BuildID: "b0", Offset: uint64(0x1000 + 16*len(b.Frames))}
		switch {
		case name[0] == '[':
			f = profile.Frame{Functions: f.Functions, Note: true}
		case len(name) > 2 && name[:2] == "k_":
			f.Module, f.BuildID, f.Kernel = "[kernel]", "e0", true
		default:
			f.Functions[0].File, f.Functions[0].Line = "box.c", uint32(len(b.Frames))
		}
		id = b.Frame(f)
		b.named[name] = id
	}
	return id
}

// Stack returns a stack of frames, outermost first.
func (b *Builder) Stack(frames ...profile.FrameID) (id profile.NodeID) {
	for _, f := range frames {
		n := profile.Node{Parent: id, Frame: f}
		id = b.nodes[n]
		if id == 0 {
			b.Nodes = append(b.Nodes, n)
			id = profile.NodeID(len(b.Nodes) - 1)
			b.nodes[n] = id
		}
	}
	return id
}

// Calls returns the stack of functions by name, outermost first.
func (b *Builder) Calls(names ...string) profile.NodeID {
	var frames []profile.FrameID
	for _, name := range names {
		frames = append(frames, b.Function(name))
	}
	return b.Stack(frames...)
}

func (b *Builder) Thread(pid, tid int32, comm string, cells ...profile.Cell) *profile.Thread {
	b.Labels = append(b.Labels, profile.Label{PID: pid, TID: tid, Comm: comm, Process: comm})
	t := &profile.Thread{PID: pid, TID: tid, Label: profile.LabelID(len(b.Labels) - 1)}
	for _, c := range cells {
		c.Label = t.Label
		t.Lifetime += c.Ns
		t.Cells = append(t.Cells, c)
	}
	b.Threads = append(b.Threads, t)
	return t
}

// Cell returns a cell with a count. Those of ClassRunnable are waits for a CPU after a block.
func Cell(class profile.Class, state format.State, stack profile.NodeID, ns int64, count uint64) profile.Cell {
	c := profile.Cell{CellKey: profile.CellKey{Class: class, State: state, CPU: profile.NoCPU, Stack: stack}, Ns: ns, Count: count}
	if class.Delay() {
		c.Waits = count
	}
	if class == profile.ClassRunnable {
		c.Count = 0
	}
	return c
}

// Box returns the profile of a process with two threads: one works and waits, the other one serves requests.
func Box() *Builder {
	b := New()
	on := b.Calls("main", "work", "spin")
	lock := b.Calls("main", "work", "lock", "k_futex", "k_schedule")
	b.Thread(10, 10, "box",
		Cell(profile.ClassOnCPU, 0, on, 300e6, 30),
		Cell(profile.ClassOnCPU, 0, b.Calls("main", "[not sampled]"), 1e6, 0),
		Cell(profile.ClassBlocked, format.StateInterruptible, lock, 400e6, 7),
		Cell(profile.ClassBlocked, format.StateUninterruptible, b.Calls("main", "save", "k_fsync"), 100e6, 3),
		Cell(profile.ClassRunnable, 0, lock, 9e6, 7),
		Cell(profile.ClassPreempted, 0, on, 90e6, 2),
		Cell(profile.ClassUnknown, 0, 0, 100e6, 1),
	)
	serve := b.Calls("start_thread", "serve", "k_epoll_wait")
	c := Cell(profile.ClassOnCPU, 0, b.Calls("start_thread", "serve", "answer"), 50e6, 5)
	c.CPU = 0
	b.Thread(10, 11, "server", c,
		Cell(profile.ClassIdle, format.StateInterruptible, serve, 900e6, 12),
		Cell(profile.ClassRunnable, 0, serve, 1e6, 12),
		Cell(profile.ClassNew, 0, 0, 49e6, 1),
	)
	return b
}

// Named returns a profile in which everything that has a name in a capture has this name.
func Named(name string) *Builder {
	b := New()
	b.About.Host, b.About.Kernel, b.About.OffCPU, b.About.Sources = name, name, name, []profile.Source{{Name: name, Period: 1}}
	place := b.Frame(profile.Frame{
		Functions: []profile.Function{{Name: name, File: name, Line: 1, Linkage: name}}, Module: name, BuildID: name, Offset: 1,
	})
	note := b.Frame(profile.Frame{Functions: []profile.Function{{Name: name}}, Note: true})
	t := b.Thread(1, 2, name,
		Cell(profile.ClassOnCPU, 0, b.Stack(place, place), 60, 6),
		Cell(profile.ClassBlocked, format.StateInterruptible, b.Stack(place, note), 40, 4),
	)
	t.Trail = TrailOf(t,
		profile.Piece{From: 5, To: 65, Class: profile.ClassOnCPU, Stack: b.Stack(place, place)},
		profile.Piece{From: 65, To: 105, Class: profile.ClassBlocked, State: format.StateInterruptible, Stack: b.Stack(place, note)})
	return b
}

// Pieces is a trail in memory.
type Pieces []profile.Piece

func TrailOf(t *profile.Thread, all ...profile.Piece) profile.Trail {
	for i := range all {
		all[i].Label = t.Label
	}
	return Pieces(all)
}

func (p Pieces) Each(visit func(*profile.Piece) error) error {
	for i := range p {
		if err := visit(&p[i]); err != nil {
			return err
		}
	}
	return nil
}

// CellNames returns the functions of a cell, innermost first.
func CellNames(p *profile.Profile, c *profile.Cell) (names []string) {
	switch c.Class {
	case profile.ClassIdle, profile.ClassNew, profile.ClassUnknown:
		names = append(names, c.Class.Note())
	}
	for id := c.Stack; id != 0; id = p.Nodes[id].Parent {
		for _, f := range slices.Backward(p.Frames[p.Nodes[id].Frame].Functions) {
			names = append(names, f.Name)
		}
	}
	return names
}

func Analysed() *profile.Profile {
	p := &profile.Profile{
		About: profile.About{
			Host: "vm", Kernel: "Linux 6.18", Start: time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC), Window: 10e9, MinBlock: 1e6,
			Sources: []profile.Source{{Name: "timer", Period: 20408163}}, Samples: 98, ShortBlocks: 1e9, Recorder: profile.Cost{CPU: 3e8, Memory: 50 << 20},
		},
		Frames: []profile.Frame{{}, {Functions: []profile.Function{{Name: "main"}}}, {Functions: []profile.Function{{Name: "nap"}, {Name: "inlined"}}},
			{Functions: []profile.Function{{Name: "do_nanosleep"}}, Kernel: true}, {Functions: []profile.Function{{Name: "read_disk"}}}},
		Nodes:  []profile.Node{{}, {Frame: 1}, {Parent: 1, Frame: 2}, {Parent: 2, Frame: 3}, {Parent: 1, Frame: 4}, {Parent: 1, Frame: 4}},
		Labels: []profile.Label{{}, {PID: 10, TID: 10, Comm: "app", Process: "app"}, {PID: 10, TID: 11, Comm: "kworker/0:1 <x>", Process: "app"}},
	}
	p.Threads = []*profile.Thread{
		{TID: 10, PID: 10, Label: 1, Lifetime: 10e9, Cells: []profile.Cell{
			Cell(profile.ClassOnCPU, 0, 1, 2e9, 98), Cell(profile.ClassBlocked, format.StateInterruptible, 3, 3e9, 300),
			Cell(profile.ClassRunnable, format.StateInterruptible, 3, 6e8, 6), Cell(profile.ClassPreempted, 0, 1, 4e8, 4),
			Cell(profile.ClassIdle, format.StateInterruptible, 2, 3e9, 3),
		}},
		{TID: 11, PID: 10, Label: 2, Start: 6e9, Lifetime: 4e9, Cells: []profile.Cell{
			Cell(profile.ClassBlocked, format.StateUninterruptible, 4, 15e8, 3), Cell(profile.ClassBlocked, format.StateUninterruptible, 5, 25e8, 5),
		}},
	}
	return p
}

// CheckLines checks that a text has lines; several spaces count as one.
func CheckLines(t *testing.T, text string, want ...string) {
	t.Helper()
	flat := regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	for _, w := range want {
		if !strings.Contains(flat, w+"\n") {
			t.Errorf("there is no line %q in:\n%s", w, text)
		}
	}
}

// AllPieces returns copies of all pieces of a trail.
func AllPieces(t testing.TB, trail profile.Trail) (all []profile.Piece) {
	t.Helper()
	if err := trail.Each(func(p *profile.Piece) error {
		all = append(all, *p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// OddNames adds names with unusual characters and lengths to a fuzz test.
func OddNames(add func(...any)) {
	for _, name := range []string{
		"", " ", "plain", "a\xffb", "\xed\xa0\x80", "a\x00b", "\n\r\t\"\\</script>", "\u2028\u2029", "a;b 12", "[idle]", "operator<<",
		strings.Repeat("x", 70000), "\x1b[31m", "☃", "\xf0\x9f\x98", "[kernel]",
	} {
		add(name)
	}
}
