package speedscope

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/printable"
)

// Write writes a speedscope profile of each thread that has a trail: its stacks in order of time. The thread that was on the CPU
// longest comes first. Of the view it uses Mode, NoIdleWaits and Only; time that the view leaves out is empty.
// Times are ns since About.From; a thread's begin and end with its lifetime in the window.
//
// The innermost frame shows why a thread was off-CPU. Pieces are read as they are written, one at a time. The
// profiles are of the type with whole stacks ("sampled"): with "evented" ones, of entered and left frames, a million switches took
// 565 bytes each.
func Write(w io.Writer, p *profile.Profile, v graph.View) error {
	v.States = true
	s := &speedscope{
		p: p, v: v, out: bufio.NewWriterSize(w, 256<<10),
		frames: make(map[speedscopeFrame]int), ofFrame: make([][]int, len(p.Frames)),
	}
	s.write(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"wprof","name":`)
	s.text(speedscopeTitle(&p.About))
	s.write(`,"activeProfileIndex":0,"profiles":[`)
	for _, t := range s.threads() {
		if err := s.thread(t); err != nil {
			return err
		}
	}
	s.write("],\n\"shared\":{\"frames\":[")
	s.allFrames()
	s.write("]}}\n")
	return s.out.Flush()
}

// speedscope writes one file.
type speedscope struct {
	p        *profile.Profile
	v        graph.View
	out      *bufio.Writer // keeps the first error
	profiles int           // written so far
	frames   map[speedscopeFrame]int
	ordered  []speedscopeFrame
	lines    []uint32 // of ordered; 0: unknown, or several
	ofFrame  [][]int  // numbers of the functions of each frame of the profile that is used
	number   []byte
}

// speedscopeFrame is what speedscope shows as one function.
type speedscopeFrame struct{ name, file string }

func speedscopeTitle(a *profile.About) string {
	if a.Host == "" {
		return "wprof"
	}
	return a.Host + " " + a.Start.UTC().Format("2006-01-02 15:04:05 UTC")
}

// threads returns the threads with time in the view, the busiest first.
func (s *speedscope) threads() []*profile.Thread {
	var all []*profile.Thread
	onCPU := make(map[*profile.Thread]int64)
	for t := range s.v.Threads(s.p) {
		if t.Trail == nil {
			continue
		}
		shows := false
		for i := range t.Cells {
			c := &t.Cells[i]
			shows = shows || s.v.Shows(c.Class)
			if c.Class.OnCPU() {
				onCPU[t] += c.Ns
			}
		}
		if shows {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *profile.Thread) int {
		return cmp.Or(cmp.Compare(onCPU[b], onCPU[a]), cmp.Compare(b.Lifetime, a.Lifetime))
	})
	return all
}

// thread writes a thread's profile, if its trail has a piece. Stacks and their durations are two lists in the format, so
// the trail is read twice.
func (s *speedscope) thread(t *profile.Thread) error {
	b := &speedscopeThread{speedscope: s, trail: t.Trail}
	l := &s.p.Labels[t.Label]
	if err := b.each(func(ns int64, stack []int) {
		if b.written++; b.written == 1 {
			b.begin(l.Thread() + " " + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID)))
		} else {
			b.write(",")
		}
		b.stack(stack)
	}); err != nil || b.written == 0 {
		return err
	}
	b.write("],\"weights\":[")
	b.written = 0
	if err := b.each(func(ns int64, stack []int) {
		if b.written++; b.written > 1 {
			b.write(",")
		}
		b.int(ns)
	}); err != nil {
		return err
	}
	b.write("],\"endValue\":")
	b.int(b.until)
	b.write("}")
	return nil
}

// speedscopeThread writes one thread's profile.
type speedscopeThread struct {
	*speedscope
	trail      profile.Trail
	written    int   // stacks, or their times, so far
	from       int64 // where the first piece begins
	at, until  int64 // where the current stack, which was not visited yet, begins and ends
	open, next []int // the current stack, outermost first, and that of the next piece
}

// each visits the stacks in order of time, with the time in each. The stack of time that is not shown is empty.
func (b *speedscopeThread) each(visit func(ns int64, stack []int)) error {
	isFirst := true
	b.open = b.open[:0]
	change := func(from int64, stack []int) {
		if slices.Equal(stack, b.open) {
			return
		}
		if from > b.at {
			visit(from-b.at, b.open)
		}
		b.at, b.open = from, append(b.open[:0], stack...)
	}
	err := b.trail.Each(func(p *profile.Piece) error {
		switch {
		case p.To <= p.From:
			return nil
		case isFirst:
			isFirst = false
			b.from, b.at, b.until = p.From, p.From, p.From
		case p.From > b.until: // between two recordings
			change(b.until, nil)
		}
		b.next = b.appendStack(b.next[:0], p)
		change(max(p.From, b.until), b.next)
		b.until = max(b.until, p.To)
		_, err := b.out.Write(nil) // the first error so far
		return err
	})
	if err == nil && b.until > b.at {
		visit(b.until-b.at, b.open)
	}
	return err
}

func (b *speedscopeThread) begin(name string) {
	if b.profiles++; b.profiles > 1 {
		b.write(",")
	}
	b.write("\n{\"type\":\"sampled\",\"name\":")
	b.text(name)
	b.write(`,"unit":"nanoseconds","startValue":`)
	b.int(b.from)
	b.write(`,"samples":[`)
}

func (b *speedscopeThread) stack(frames []int) {
	b.write("[")
	for i, frame := range frames {
		if i > 0 {
			b.write(",")
		}
		b.int(int64(frame))
	}
	b.write("]")
}

// appendStack appends the frames of a piece, outermost first; none if the view leaves the piece out.
func (b *speedscopeThread) appendStack(stack []int, p *profile.Piece) []int {
	c := profile.Cell{CellKey: profile.CellKey{Class: p.Class, State: p.State, Wait: p.Wait, Stack: p.Stack}}
	if !b.v.Shows(c.Class) {
		return stack
	}
	for id := p.Stack; id != 0; id = b.p.Nodes[id].Parent {
		for _, n := range slices.Backward(b.frame(b.p.Nodes[id].Frame)) {
			stack = append(stack, n)
		}
	}
	slices.Reverse(stack)
	if note := b.v.Note(&c); note != "" {
		stack = append(stack, b.intern(speedscopeFrame{name: note}, 0))
	}
	return stack
}

// frame returns the numbers of a frame's functions, outermost first.
func (s *speedscope) frame(id profile.FrameID) []int {
	numbers := s.ofFrame[id]
	if numbers != nil {
		return numbers
	}
	f := &s.p.Frames[id]
	for i := range f.Functions {
		fn := &f.Functions[i]
		file := fn.File
		if file == "" {
			file = f.Module
		}
		numbers = append(numbers, s.intern(speedscopeFrame{s.v.NameOf(fn), file}, fn.Line))
	}
	s.ofFrame[id] = numbers
	return numbers
}

// intern returns the number of a frame. Speedscope adds up by number, so a function has one number for all its lines, unless
// the view shows lines, which are in its name then. Its line is written if there is only one.
func (s *speedscope) intern(f speedscopeFrame, line uint32) int {
	n, known := s.frames[f]
	if !known {
		n = len(s.ordered)
		s.frames[f] = n
		s.ordered = append(s.ordered, f)
		s.lines = append(s.lines, line)
	} else if s.lines[n] != line {
		s.lines[n] = 0
	}
	return n
}

func (s *speedscope) allFrames() {
	for i, f := range s.ordered {
		if i > 0 {
			s.write(",")
		}
		s.write("\n{\"name\":")
		s.text(f.name)
		if f.file != "" {
			s.write(`,"file":`)
			s.text(f.file)
		}
		if s.lines[i] != 0 {
			s.write(`,"line":`)
			s.int(int64(s.lines[i]))
		}
		s.write("}")
	}
}

func (s *speedscope) write(text string) { _, _ = s.out.WriteString(text) }

func (s *speedscope) int(n int64) {
	s.number = strconv.AppendInt(s.number[:0], n, 10)
	_, _ = s.out.Write(s.number)
}

// text writes a JSON string of any bytes.
func (s *speedscope) text(value string) {
	quoted, _ := json.Marshal(value) // fails for no string
	_, _ = s.out.Write(printable.JSON(quoted))
}
