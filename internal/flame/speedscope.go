package flame

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
)

// WriteSpeedscope writes what each thread did in order of time, as an evented profile of speedscope's for each thread that
// has a trail, the one that was on the CPU longest first. Of the view it takes Mode, NoIdleWaits and Only; what the view does
// not tell is a gap. Times are ns since About.From; a thread's begin and end with its lifetime in the window.
//
// Why a thread was off the CPU is a frame on top of the stack. Pieces are read as they are written, one at a time.
func (p *Profile) WriteSpeedscope(w io.Writer, v View) error {
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
	p        *Profile
	v        View
	out      *bufio.Writer // keeps the first error
	profiles int           // written so far
	frames   map[speedscopeFrame]int
	ordered  []speedscopeFrame
	lines    []uint32 // of ordered; 0 where several are known
	ofFrame  [][]int  // of each of the profile's frames that is used
	number   []byte
}

// speedscopeFrame is what speedscope shows as one function.
type speedscopeFrame struct{ name, file string }

func speedscopeTitle(a *About) string {
	if a.Host == "" {
		return "wprof"
	}
	return a.Host + " " + a.Start.UTC().Format("2006-01-02 15:04:05 UTC")
}

// threads are those that have something to tell, the busiest first.
func (s *speedscope) threads() []*Thread {
	var all []*Thread
	onCPU := make(map[*Thread]int64)
	for _, t := range s.p.Threads {
		if t.Trail == nil || s.v.Only != nil && !s.v.Only(t) {
			continue
		}
		for i := range t.Cells {
			if t.Cells[i].Class.OnCPU() {
				onCPU[t] += t.Cells[i].Ns
			}
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b *Thread) int {
		return cmp.Or(cmp.Compare(onCPU[b], onCPU[a]), cmp.Compare(b.Lifetime, a.Lifetime))
	})
	return all
}

// thread writes a thread's profile, if there is a piece of it.
func (s *speedscope) thread(t *Thread) error {
	b := &speedscopeThread{speedscope: s, t: t}
	if err := t.Trail.Each(b.piece); err != nil {
		return err
	}
	if b.begun {
		b.leave(0)
		s.write("\n],\"endValue\":")
		s.int(b.until)
		s.write("}")
	}
	return nil
}

// speedscopeThread writes one thread's profile. Frames stay open as long as the pieces that follow each other have them.
type speedscopeThread struct {
	*speedscope
	t           *Thread
	begun       bool
	isFollowing bool  // an event has been written
	until       int64 // where the last piece ended
	open, next  []int // frames, outermost first
}

// piece goes on with a piece.
func (b *speedscopeThread) piece(p *Piece) error {
	if p.To <= p.From {
		return nil
	}
	if !b.begun {
		b.begin(p.From)
	}
	if p.From > b.until { // between two recordings
		b.leave(0)
	}
	b.until = max(b.until, p.From)
	b.next = b.appendStack(b.next[:0], p)
	same := 0
	for same < min(len(b.open), len(b.next)) && b.open[same] == b.next[same] {
		same++
	}
	b.leave(same)
	for _, frame := range b.next[same:] {
		b.event('O', frame)
	}
	b.open, b.next = b.next, b.open
	b.until = max(b.until, p.To)
	_, err := b.out.Write(nil) // the first error of all that was written
	return err
}

func (b *speedscopeThread) begin(from int64) {
	b.begun, b.until = true, from
	if b.profiles++; b.profiles > 1 {
		b.write(",")
	}
	l := &b.p.Labels[b.t.Label]
	b.write("\n{\"type\":\"evented\",\"name\":")
	b.text(l.Comm + " " + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID)))
	b.write(`,"unit":"nanoseconds","startValue":`)
	b.int(from)
	b.write(`,"events":[`)
}

// leave closes the frames beyond the first few.
func (b *speedscopeThread) leave(keep int) {
	for len(b.open) > keep {
		last := len(b.open) - 1
		b.event('C', b.open[last])
		b.open = b.open[:last]
	}
}

func (b *speedscopeThread) event(kind byte, frame int) {
	if b.isFollowing {
		b.write(",")
	}
	b.isFollowing = true
	b.write("\n{\"type\":\"")
	_ = b.out.WriteByte(kind)
	b.write(`","at":`)
	b.int(b.until)
	b.write(`,"frame":`)
	b.int(int64(frame))
	b.write("}")
}

// appendStack appends the frames of a piece, outermost first; none of what the view does not tell.
func (b *speedscopeThread) appendStack(stack []int, p *Piece) []int {
	c := Cell{CellKey: CellKey{Class: p.Class, State: p.State, Stack: p.Stack}}
	if !b.v.tells(c.Class) {
		return stack
	}
	for id := p.Stack; id != 0; id = b.p.Nodes[id].Parent {
		numbers := b.frame(b.p.Nodes[id].Frame)
		for _, n := range slices.Backward(numbers) {
			stack = append(stack, n)
		}
	}
	slices.Reverse(stack)
	if note := b.v.note(&c); note != "" {
		stack = append(stack, b.intern(speedscopeFrame{name: note}, 0))
	}
	return stack
}

// frame are the numbers of a frame's functions, outermost first.
func (s *speedscope) frame(id FrameID) []int {
	numbers := s.ofFrame[id]
	if numbers != nil {
		return numbers
	}
	f := &s.p.Frames[id]
	for _, fn := range f.Functions {
		file := fn.File
		if file == "" {
			file = f.Module
		}
		numbers = append(numbers, s.intern(speedscopeFrame{fn.Name, file}, fn.Line))
	}
	s.ofFrame[id] = numbers
	return numbers
}

// intern is the number of a frame. Speedscope adds up what has one number, so that one function has one, wherever it was
// in it; a line is told where there is only one.
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
	_, _ = s.out.Write(quoted)
}
