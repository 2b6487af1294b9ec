//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// place is a frame of a capture.
type place struct {
	address uint64   // of the call, or where the thread is
	names   []string // of the function, as the program's or the kernel's symbols have it
	named   string   // as the capture has it
	within  uint64   // bytes from the function's beginning
	kernel  bool
}

// stackSeen is a stack of a capture, outermost first. Its parts are nil if the event has none.
type stackSeen struct {
	user, kernel []place
	cut          bool
}

// block is the time between the switch with which a thread left a CPU, not being runnable, and the one that brought it
// back.
type block struct {
	tid      int32
	from, to int64
	state    format.State
	stack    *stackSeen // nil: none
}

// wake is a waking by a thread of the workload.
type wake struct {
	waker, wakee int32
	stack        *stackSeen
}

// stillOff is a thread that was off the CPUs when the window closed.
type stillOff struct {
	state format.State
	stack *stackSeen
}

// blockedCapture is what a capture has about the workload's threads.
type blockedCapture struct {
	blocks []block
	left   map[int32]int64 // how often a thread left a CPU to be blocked
	wakes  []wake
	open   map[int32]stillOff
	stacks int // how many events name one, whatever thread they are about
	lost   uint64
}

// captureReader turns the frames of a capture into places.
type captureReader struct {
	t       *testing.T
	r       *format.Reader
	program *programSymbols
	path    string
	kernel  *kernelSymbols
	known   map[format.StackID]*stackSeen
}

// readBlocked reads what a capture has about the threads of a process that runs the program at path.
func readBlocked(t *testing.T, capture, path string, kernel *kernelSymbols, threads *blockedThreads) *blockedCapture {
	t.Helper()
	c := &captureReader{t: t, program: readProgram(t, path), path: path, kernel: kernel, known: map[format.StackID]*stackSeen{}}
	ours := map[int32]bool{}
	for _, tid := range threads.tids {
		ours[tid] = true
	}
	b := &blockedCapture{left: map[int32]int64{}, open: map[int32]stillOff{}}
	r := tools.WalkFile(t, capture, func(_ *format.Reader, e *format.Event) { c.take(b, ours, e) }, func(r *format.Reader) { c.r = r })
	for _, loss := range r.End().GetLosses() {
		// Linux 7.2 skips the program of an exit that another exit preempts, and counts that; no switch is missing for it.
		if loss.Cause != uint32(format.CauseRecursion) || loss.Kind == uint32(format.KindSwitch) {
			b.lost += loss.Count
		}
	}
	return b
}

func (c *captureReader) take(b *blockedCapture, ours map[int32]bool, e *format.Event) {
	switch e.Kind {
	case format.KindSwitch:
		s := e.Switch()
		stack := c.stack(b)(s.Stack())
		if prev := c.r.Task(e.Task).GetTid(); ours[prev] && blocking(s.PrevState()) {
			b.left[prev]++
		}
		next := c.r.Task(s.Next()).GetTid()
		since, known := s.Since()
		if state, _ := s.NextState(); known && ours[next] && blocking(state) {
			b.blocks = append(b.blocks, block{next, since, e.Time, state, stack})
		}
	case format.KindWaking:
		w := e.Waking()
		stack := c.stack(b)(w.Stack())
		if wakee := c.r.Task(w.Wakee()).GetTid(); ours[wakee] {
			b.wakes = append(b.wakes, wake{c.r.Task(e.Task).GetTid(), wakee, stack})
		}
	case format.KindWakeupNew:
		c.stack(b)(e.WakeupNew().Stack())
	case format.KindStateThread:
		s := e.StateThread()
		stack := c.stack(b)(s.Stack())
		if tid := c.r.Task(e.Task).GetTid(); ours[tid] && e.Flags&format.FlagOpen != 0 {
			b.open[tid] = stillOff{s.State(), stack}
		} else if ours[tid] && stack != nil {
			c.t.Errorf("thread %d has a stack in a state that is not that of the end", tid)
		}
	}
}

// blocking reports whether a thread that leaves a CPU in a state waits for something.
func blocking(s format.State) bool {
	return s&(format.StateInterruptible|format.StateUninterruptible|format.StateIdle|format.StateParked|format.StateStopped|format.StateTraced) != 0
}

// stack reads the stack that an event names, if it has one.
func (c *captureReader) stack(b *blockedCapture) func(id format.StackID, has bool) *stackSeen {
	return func(id format.StackID, has bool) *stackSeen {
		if !has {
			return nil
		}
		b.stacks++
		if c.known[id] == nil {
			c.known[id] = c.read(c.r.Stack(id))
		}
		return c.known[id]
	}
}

func (c *captureReader) read(def *format.Stack) *stackSeen {
	wellFormed(c.t, c.r, def)
	s := &stackSeen{cut: def.Cut}
	for i, frame := range def.Frames {
		if i < len(def.Frames)-int(def.KernelFrames) {
			s.user = append(s.user, c.userPlace(c.r.Frame(frame)))
		} else {
			s.kernel = append(s.kernel, c.kernelPlace(c.r.Frame(frame)))
		}
	}
	return s
}

// before is the place that a return address returns from.
func before(f *format.Frame) uint64 {
	if f.Caller {
		return f.Offset - 1
	}
	return f.Offset
}

func (c *captureReader) userPlace(f *format.Frame) place {
	p := place{named: nameOf(f)}
	if m := c.r.Module(f.Module); m != nil && string(m.Path) == c.path {
		p.address, p.names = c.program.at(before(f))
	}
	return p
}

func (c *captureReader) kernelPlace(f *format.Frame) place {
	p := place{named: nameOf(f), kernel: true}
	m := c.r.Module(f.Module)
	if m == nil {
		return p
	}
	p.address = m.Base + before(f)
	if i, found := slices.BinarySearch(c.kernel.starts, p.address); found || i > 0 {
		if !found {
			i--
		}
		start := c.kernel.starts[i]
		p.names, p.within = c.kernel.names[start], m.Base+f.Offset-start
	}
	return p
}

func nameOf(f *format.Frame) string {
	if len(f.Lines) == 0 {
		return ""
	}
	return string(f.Lines[len(f.Lines)-1].Function)
}

func (p place) String() string {
	name := p.named
	if name == "" {
		name = "?"
	}
	if p.kernel {
		return fmt.Sprintf("%s+%#x", name, p.within)
	}
	return name
}

func (s *stackSeen) String() string {
	if s == nil {
		return "no stack"
	}
	var words []string
	for _, p := range s.user {
		words = append(words, p.String())
	}
	words = append(words, "|")
	for _, p := range s.kernel {
		words = append(words, p.String())
	}
	if s.cut {
		words = append([]string{"(cut)"}, words...)
	}
	return strings.Join(words, " ")
}
