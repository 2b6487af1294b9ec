package firefox

import (
	"wprof/internal/timeline"
	"wprof/internal/tracks"
	"wprof/internal/waits"
)

// A sample has the time at which a state begins, with its length as weight. The user interface takes threadCPUDelta as the CPU time
// since the sample before and draws it half in the colour of each, so the end of a time on the CPU is a sample of its own, which
// has no weight. A sample without a stack begins a time in which nothing is known.

// The integers of a row of samples.
const (
	sampleDelta = iota
	sampleStack
	sampleWeight
	sampleCPU
	sampleValues
)

// maxPending bounds the samples of one time on the CPU. Beyond it, every other one is dropped.
const maxPending = 1 << 14

// sample adds a sample. cpu is the CPU time since the one before.
func (t *thread) sample(p *profile, at int64, node int32, weight, cpu int64) {
	before := max(t.last, 0)
	at = max(at-p.first, before)
	t.samples.add(p, at-before, int64(node), weight, cpu)
	t.last, t.isOpen = at, weight > 0
}

// endSample ends the last sample at the end of the thread's known time.
func (t *thread) endSample(p *profile) {
	if t.isOpen {
		t.sample(p, p.first+t.until, none, 0, 0)
	}
}

// Sample implements [tracks.Encoder].
func (p *profile) Sample(s *tracks.Sample) {
	if s.Task == nil || !s.Task.IsThread() {
		return
	}
	t := p.thread(s.Task, s.CPU)
	if n := len(t.pending); n > 0 && t.pending[n-1].at > s.At {
		return // it comes late
	}
	if len(t.pending) == maxPending {
		kept := t.pending[:0]
		for i := 0; i < maxPending; i += 2 {
			kept = append(kept, t.pending[i])
		}
		t.pending = kept
	}
	t.pending = append(t.pending, pending{s.At, p.shared.stack(s.Stack).node})
}

// Slice implements [tracks.Encoder].
func (p *profile) Slice(s *tracks.Slice) {
	if s.Task.Idle {
		return
	}
	t := p.thread(s.Task, s.CPU)
	switch s.Kind {
	case timeline.SpanRunning:
		p.ran(t, s)
	case timeline.SpanBlocked, timeline.SpanRunnable, timeline.SpanNew:
		p.waited(t, s)
	default:
		t.endSample(p)
		t.wait = wait{}
	}
	t.until = s.To - p.first
}

// ran divides a time on the CPU among the samples in it: each gets the part that is nearer to it than to the others.
func (p *profile) ran(t *thread, s *tracks.Slice) {
	inside := t.pending
	for len(inside) > 0 && inside[0].at < s.From {
		inside = inside[1:]
	}
	after := 0
	for after < len(inside) && inside[after].at <= s.To {
		after++
	}
	inside, left := inside[:after], inside[after:]
	if len(inside) == 0 {
		inside = append(inside, pending{s.From, p.shared.label(none, "not sampled", categoryOnCPU, 0)})
	}
	from, cpu, node := s.From, int64(0), int32(none)
	t.unknownUntil(p, from)
	for i, one := range inside {
		to := s.To
		if i+1 < len(inside) {
			to = one.at + (inside[i+1].at-one.at)/2
		}
		if node = one.node; node == none {
			node = p.shared.label(none, "no stack", categoryOnCPU, 0)
		}
		if to > from || i == len(inside)-1 {
			t.sample(p, from, node, to-from, cpu)
			cpu, from = to-from, to
		}
	}
	t.sample(p, s.To, node, 0, cpu)
	t.pending = append(t.pending[:0], left...)
	p.endWait(t, s)
	p.running(t, s)
}

// waited adds a time off the CPU.
func (p *profile) waited(t *thread, s *tracks.Slice) {
	t.unknownUntil(p, s.From)
	w := &t.wait
	if !w.has || w.until != s.From {
		*w = wait{has: true, from: s.From, stack: *p.shared.stack(nil)}
	}
	if s.Stack != nil {
		w.stack = *p.shared.stack(s.Stack)
	}
	if s.Wait != nil && s.Wait.Def != nil {
		w.stack.blockedIn = p.shared.string(s.Wait.Name)
	}
	w.until = s.To
	r := reasonOf(s)
	t.sample(p, s.From, p.shared.label(w.stack.node, r.name, r.category, r.subcategory), s.To-s.From, 0)
	if s.Open {
		p.openWait(t, s)
	}
}

// unknownUntil records that nothing is known of a thread until a time.
func (t *thread) unknownUntil(p *profile, from int64) {
	if from-p.first > t.until {
		t.endSample(p)
	}
}

func reasonOf(s *tracks.Slice) reason {
	switch {
	case s.Kind == timeline.SpanNew:
		return waitingNew
	case s.Kind == timeline.SpanRunnable && s.Off.Throttled:
		return waitingThrottled
	case s.Kind == timeline.SpanRunnable && s.Off.Preempted:
		return waitingPreempted
	case s.Kind == timeline.SpanRunnable:
		return waitingWoken
	}
	class := waits.Unknown
	if s.Wait != nil {
		class = s.Wait.Class
	}
	return whyBlocked(class, s.State)
}
