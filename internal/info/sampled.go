package info

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
)

// readTime bounds the time for reading events of a regular file, so that the summary of any file takes less than a second.
const readTime = 600 * time.Millisecond

// Sampled is the statistics of names and stacks in the samples that were read. Each frame counts once for each sample that has
// it in its stack.
type Sampled struct {
	Session    *format.Session
	All        bool // no event was left out
	Waits      Waits
	Threads    ThreadTimes
	Counts     Counts
	labels     labels
	Samples    uint64
	WithStack  uint64
	TooDeep    uint64 // stacks deeper than the recorder's limit
	UserStacks UserStacks
	Kernel     FrameCount
	User       FrameCount
	Modules    []*ModuleCount // with most unnamed frames first
}

// FrameCount is a number of frames, and how many of them have the name of a function, and a source line.
type FrameCount struct{ Frames, Named, Lined uint64 }

// ModuleCount counts one module's frames.
type ModuleCount struct {
	Path   string // [unknown]: in no known module
	Kernel bool
	FrameCount
}

func (c FrameCount) unnamed() uint64 { return c.Frames - c.Named }

// readEvents reads a stream's events until a deadline; zero: there is none. It ends at an error of the stream, which
// is reported elsewhere.
func readEvents(r io.Reader, deadline time.Time) []*Sampled {
	stream, err := format.NewReader(r)
	if err != nil {
		return nil
	}
	defer stream.Close()
	l := eventReader{stream: stream, threads: newThreadReader(stream)}
	stream.OnSectionEnd(l.label)
	for n := 0; ; n++ {
		v, err := stream.Next()
		if stream.Sections() != l.sections {
			l.section()
		}
		timedOut := n%1024 == 1023 && !deadline.IsZero() && time.Now().After(deadline)
		if err != nil || timedOut {
			if timedOut {
				l.label(nil)
			}
			return l.done(err == io.EOF)
		}
		l.threads.event(v)
		if v.Kind == format.KindSample {
			l.sample(v.Sample().Stack())
		} else if len(l.all) > 0 {
			l.countWait(v)
			if v.Kind == format.KindSwitch {
				l.all[len(l.all)-1].Counts.add(stream, v)
			}
		}
	}
}

// eventReader adds up one recording after the other.
type eventReader struct {
	stream   *format.Reader
	threads  *threadReader
	sections int
	all      []*Sampled
	modules  map[moduleKey]*ModuleCount
	stacks   *bounded.Map[format.StackID, *stackFacts] // of the current section
}

const (
	maxFacts   = 1 << 15 // stacks
	maxModules = 1 << 16 // the rest is shown as one
)

type moduleKey struct {
	path   string
	kernel bool
}

// stackFacts is the contribution of one stack to the sums.
type stackFacts struct {
	user, kernel FrameCount
	modules      []moduleFacts
	deep         bool
	end          format.StackEnd
	cut          *ModuleCount // in which its user part ends, if it ends early; else nil
}

type moduleFacts struct {
	module *ModuleCount
	FrameCount
}

func (l *eventReader) section() {
	l.sections = l.stream.Sections()
	l.stacks = bounded.NewMap[format.StackID, *stackFacts](maxFacts)
	s := l.stream.Session()
	if n := len(l.all); n == 0 || !format.SameRecording(l.all[n-1].Session, s) {
		l.endRecording(true)
		l.all = append(l.all, &Sampled{Session: s, labels: make(labels)})
		l.modules = make(map[moduleKey]*ModuleCount)
	}
	l.threads.section(s, &l.all[len(l.all)-1].Threads)
}

// label adds the labels of the current section's processes; end is nil if it has not ended.
func (l *eventReader) label(end *format.End) {
	if len(l.all) > 0 {
		l.all[len(l.all)-1].labels.add(l.stream, end)
	}
}

// endRecording ends the current recording.
func (l *eventReader) endRecording(all bool) {
	if len(l.all) == 0 {
		return
	}
	now := l.all[len(l.all)-1]
	now.All = all
	maps.DeleteFunc(l.modules, func(_ moduleKey, m *ModuleCount) bool { return m.Frames == 0 }) // only off-CPU and waker stacks are in it
	now.Modules = slices.SortedFunc(maps.Values(l.modules), func(a, b *ModuleCount) int {
		return cmp.Or(cmp.Compare(b.unnamed(), a.unnamed()), cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Path, b.Path))
	})
}

func (l *eventReader) done(all bool) []*Sampled {
	l.threads.close(all)
	l.endRecording(all)
	return l.all
}

// countWait counts an event that is not a sample.
func (l *eventReader) countWait(e *format.Event) {
	if of := l.all[len(l.all)-1].Waits.countOf(e); of != nil {
		of.All++
		if id := e.Stack(); id != 0 {
			of.WithStack++
			of.User.add(l.factsOf(id))
		}
	}
}

func (l *eventReader) sample(id format.StackID) {
	sum := l.all[len(l.all)-1]
	sum.Samples++
	f := l.factsOf(id)
	if f == nil {
		return
	}
	sum.WithStack++
	sum.User.add(f.user)
	sum.Kernel.add(f.kernel)
	if f.deep {
		sum.TooDeep++
	}
	sum.UserStacks.add(f)
	for _, m := range f.modules {
		m.module.add(m.FrameCount)
	}
}

// factsOf returns nil if the stack was lost.
func (l *eventReader) factsOf(id format.StackID) *stackFacts {
	stack := l.stream.Stack(id)
	if stack == nil || len(stack.Frames) == 0 {
		return nil
	}
	f, found := l.stacks.Get(id)
	if !found {
		f = l.facts(stack)
		l.stacks.Put(id, f)
	}
	return f
}

func (c *FrameCount) add(more FrameCount) {
	c.Frames += more.Frames
	c.Named += more.Named
	c.Lined += more.Lined
}

func (l *eventReader) facts(stack *format.Stack) *stackFacts {
	f := &stackFacts{deep: stack.Cut, end: stacks.End(stack)}
	user := len(stack.Frames) - min(len(stack.Frames), int(stack.KernelFrames))
	ends, cut := stacks.LooksCut(user, func(i int) stacks.Frame {
		frame := l.stream.Frame(stack.Frames[i])
		// A frame without a definition was lost to damage, and was a caller; a filter gives such frames the name (lost).
		lost := frame == nil || len(function(frame)) > 0
		return stacks.Frame{Function: function(frame), Placed: lost || frame.Module != 0}
	})
	if cut = stacks.EndsEarly(f.end, stack.Cut, max(user, len(stack.Frames)-user), cut); cut {
		f.deep = false
	}
	ends = stacks.OutermostNative(ends, user, func(i int) bool { return l.isInterpreted(stack.Frames[i]) })
	seen := make(map[*ModuleCount]int)
	for i, id := range stack.Frames {
		frame := l.stream.Frame(id)
		one := FrameCount{Frames: 1}
		if len(function(frame)) > 0 {
			one.Named = 1
		}
		if frame != nil && len(frame.Lines) > 0 && frame.Lines[0].Line > 0 {
			one.Lined = 1
		}
		m := l.module(frame, i >= user)
		if i == ends && cut {
			f.cut = m
		}
		if i < user {
			f.user.add(one)
		} else {
			f.kernel.add(one)
		}
		at, found := seen[m]
		if !found {
			at = len(f.modules)
			seen[m] = at
			f.modules = append(f.modules, moduleFacts{module: m})
		}
		f.modules[at].add(one)
	}
	return f
}

func (l *eventReader) isInterpreted(id uint32) bool {
	frame := l.stream.Frame(id)
	if frame == nil {
		return false
	}
	m := l.stream.Module(frame.Module)
	return m.IsInterpreted()
}

// function returns the function that a frame's code belongs to, without inlined functions; empty if not known.
func function(f *format.Frame) []byte {
	if f == nil || len(f.Lines) == 0 {
		return nil
	}
	return f.Lines[len(f.Lines)-1].Function
}

func (l *eventReader) module(f *format.Frame, kernel bool) *ModuleCount {
	key := moduleKey{"[unknown]", kernel}
	if m := l.stream.Module(f.GetModule()); m != nil && len(m.Path) > 0 {
		key.path = string(m.Path)
	}
	if l.modules[key] == nil && len(l.modules) >= maxModules {
		key = moduleKey{"[other modules]", kernel}
	}
	if l.modules[key] == nil {
		l.modules[key] = &ModuleCount{Path: key.path, Kernel: key.kernel}
	}
	return l.modules[key]
}

// finiteReader is a reader that reports whether its input is finite. This is determined before reading, because
// [format.IsFinite] moves the position in a file.
type finiteReader struct {
	io.Reader
	finite bool
}

// Finite reports whether the input is known to end.
func (r finiteReader) Finite() bool { return r.finite }

// tee passes bytes to the event reader until that stops reading.
type tee struct{ *io.PipeWriter }

func (t tee) Write(b []byte) (int, error) {
	_, _ = t.PipeWriter.Write(b) // the event reader may have stopped
	return len(b), nil
}

// readEventsBeside reads the events of a stream while the caller reads the stream from the returned reader. wait ends that
// and returns the statistics.
func readEventsBeside(r io.Reader) (reader io.Reader, wait func() []*Sampled) {
	from, to := io.Pipe()
	finite := format.IsFinite(r)
	found := make(chan []*Sampled, 1)
	go func() {
		all := readEvents(finiteReader{from, finite}, time.Time{})
		from.Close()
		found <- all
	}()
	return finiteReader{io.TeeReader(r, tee{to}), finite}, sync.OnceValue(func() []*Sampled {
		to.Close()
		return <-found
	})
}
