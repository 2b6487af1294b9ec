package firefox

import (
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// The integers of a row of markers; its text is the marker's data.
const (
	markerName = iota
	markerStart
	markerEnd // none: an instant
	markerCategory
	markerValues
)

// wait is a time off the CPU that has not ended.
type wait struct {
	has         bool // there is one
	from, until int64
	stack       known
}

// begin begins the data of a marker with the name of its schema.
func (p *profile) begin(schema string) {
	p.data = append(append(append(p.data[:0], `{"type":"`...), schema...), '"')
}

func (p *profile) key(key string) {
	p.data = append(append(append(p.data, `,"`...), key...), `":`...)
}

func (p *profile) integer(key string, v int64) {
	p.key(key)
	p.data = appendInt(p.data, v)
}

func (p *profile) duration(key string, ns int64) {
	p.key(key)
	p.data = appendMillis(p.data, ns)
}

func (p *profile) task(key string, k *tracks.Task) {
	if k != nil {
		p.integer(key, int64(p.label(k)))
	}
}

func (p *profile) isOpen(open bool) {
	if open {
		p.integer("open", int64(p.shared.string("yes")))
	}
}

// context adds that a waking was in an interrupt, with its name if that is known.
func (p *profile) context(interrupt bool, name string) {
	if name != "" {
		p.integer("context", int64(p.shared.string(p.texts.Name([]byte(name)))))
	} else if interrupt {
		p.integer("context", int64(p.shared.string("interrupt")))
	}
}

// cause adds the stack of a marker.
func (p *profile) cause(node int32) {
	if node != none {
		p.data = append(appendInt(append(p.data, `,"cause":{"stack":`...), int64(node)), '}')
	}
}

// mark adds the marker that was begun. For an instant, to is none.
func (p *profile) mark(t *thread, name string, from, to int64, c category) {
	from = max(from-p.first, 0)
	if to != none {
		to = max(to-p.first, from)
	}
	p.data = append(p.data, '}')
	t.markers.addText(p, p.data, int64(p.shared.string(name)), from, to, int64(c))
}

// running adds a marker for a time on the CPU.
func (p *profile) running(t *thread, s *tracks.Slice) {
	p.begin("Running")
	p.integer("cpu", int64(s.CPU))
	p.integer("prio", int64(s.Prio))
	if !s.Open && (s.Left != 0 || s.Span.Next != 0) {
		p.integer("left", int64(p.shared.state(s.Left)))
	}
	p.isOpen(s.Open)
	p.mark(t, "Running", s.From, s.To, categoryOnCPU)
}

// endWait adds a marker for the time off the CPU before a time on it.
func (p *profile) endWait(t *thread, s *tracks.Slice) {
	w := t.wait
	t.wait = wait{}
	if !w.has || w.until != s.From {
		return
	}
	p.markWait(t, s, w)
}

// openWait adds a marker for a time off the CPU that has not ended when the window closes.
func (p *profile) openWait(t *thread, s *tracks.Slice) {
	w := t.wait
	t.wait = wait{}
	p.markWait(t, s, w)
}

func (p *profile) markWait(t *thread, s *tracks.Slice, w wait) {
	name, c := "Off CPU", categoryBlocked
	switch {
	case s.Off.New || s.Kind == timeline.SpanNew:
		name, c = "New", categoryWaiting
	case s.Off.Throttled:
		name, c = "Throttled", categoryWaiting
	case s.Off.Preempted:
		name, c = "Preempted", categoryWaiting
	}
	p.begin(name)
	if w.stack.blockedIn != none {
		p.integer("in", int64(w.stack.blockedIn))
	}
	if c == categoryBlocked {
		p.integer("state", int64(p.shared.state(s.State)))
	}
	if s.Off.Known && s.Off.Since < w.from {
		p.duration("length", w.until-s.Off.Since)
	}
	p.task("waker", s.Waker)
	p.context(s.Off.WokenIRQ, s.WakingInterrupt)
	if s.Kind != timeline.SpanBlocked && (s.Off.Woken != 0 || s.Off.Preempted && s.Off.Known) {
		p.duration("delay", s.Off.Delay)
		if s.Off.Compound != s.Off.Delay || s.Off.Chain > 1 {
			p.duration("compound", s.Off.Compound)
			p.integer("chain", int64(s.Off.Chain))
		}
	}
	p.isOpen(s.Open && s.Kind != timeline.SpanRunning)
	p.cause(w.stack.node)
	p.mark(t, name, w.from, w.until, c)
}

// Instant implements [tracks.Encoder].
func (p *profile) Instant(i *tracks.Instant) {
	t := p.thread(i.Task, i.CPU)
	name := ""
	switch i.Kind {
	case tracks.Wakes, tracks.Preempts:
		if name = "Wakes"; i.Kind == tracks.Preempts {
			name = "Preempts"
		}
		p.begin(name)
		p.task("thread", i.Object)
		if i.Kind == tracks.Wakes {
			p.integer("target", int64(i.TargetCPU))
			p.context(i.Interrupt, "")
		}
		p.cause(p.shared.stack(i.Stack).node)
	case tracks.Forks:
		name = "Forks"
		p.begin(name)
		p.task("thread", i.Object)
	case tracks.Execs:
		name = "Execs"
		p.begin(name)
		p.key("path")
		p.data = records.AppendString(p.data, p.texts.Name(i.Path))
	case tracks.Renames:
		name = "Renames"
		p.begin(name)
		p.integer("before", int64(p.shared.string(p.comm(i.Object))))
	default:
		name = "Exits"
		p.begin(name)
		p.integer("code", int64(i.Code))
		if i.Signal != 0 {
			p.integer("signal", int64(i.Signal))
		}
		t.end = max(i.At-p.first, 0)
	}
	p.integer("cpu", int64(i.CPU))
	p.mark(t, name, i.At, none, categoryOther)
}

// Note implements [tracks.Encoder].
func (p *profile) Note(n *tracks.Note) {
	p.begin("Recording")
	if n.CPU != format.AllCPUs {
		p.integer("cpu", int64(n.CPU))
	}
	if n.What != "" {
		p.integer("what", int64(p.shared.string(n.What)))
	}
	if n.Cause != "" {
		p.integer("reason", int64(p.shared.string(n.Cause)))
	}
	if n.Count != 0 {
		p.key("count")
		p.data = strconv.AppendUint(p.data, n.Count, 10)
	}
	if n.From < p.first {
		p.duration("length", n.To-n.From)
	}
	p.mark(p.recording(), n.Name, n.From, n.To, categoryOther)
}
