package profile

import (
	"errors"
	"iter"

	"wprof/internal/timeline"
)

// addSamples appends a running interval: a piece up to each sample, which has its stack and may be empty, and one without a stack after the
// last. spreadTrail gives all of them stacks when they are read, because the next sample may be in a later interval.
func (t *threadTrail) addSamples(c *collector, key CellKey, s *timeline.Span, inside []sampled) error {
	p := Piece{From: s.From - c.first, Class: key.Class, CPU: key.CPU, Label: key.Label, isSample: true}
	for _, one := range inside {
		p.To, p.Stack = one.at-c.first, one.stack.node
		if err := t.add(p); err != nil {
			return err
		}
		p.From = p.To
	}
	p.To, p.Stack, p.isSample = s.To-c.first, 0, false
	return t.add(p)
}

// spreadTrail is a trail in which each moment on the CPU has the stack of the thread's nearest sample, in its time on the CPU. This
// is as right on average as proportions, and shows each stack where it was sampled.
type spreadTrail struct {
	*threadTrail
	notSampled NodeID
}

// placedSample is a sample and the time that its thread was on the CPU before it.
type placedSample struct {
	at    int64
	stack NodeID
}

var errEnough = errors.New("enough")

// samples yields the samples in order, and an error as the last.
func (t spreadTrail) samples() iter.Seq2[placedSample, error] {
	return func(yield func(placedSample, error) bool) {
		at := int64(0)
		err := t.threadTrail.Each(func(p *Piece) error {
			if p.Class == ClassOnCPU {
				at += p.To - p.From
			}
			if p.isSample && !yield(placedSample{at, p.Stack}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(placedSample{}, err)
		}
	}
}

// Each reads the trail twice at the same time: samples ahead of the pieces.
func (t spreadTrail) Each(visit func(*Piece) error) error {
	next, stop := iter.Pull2(t.samples())
	defer stop()
	now, err, found := next()
	if !found {
		now.stack = t.notSampled
	}
	var after placedSample
	more := false
	if found && err == nil {
		after, err, more = next()
	}
	if err != nil {
		return err
	}
	at := int64(0)
	return t.threadTrail.Each(func(p *Piece) error {
		if p.Class != ClassOnCPU {
			return visit(p)
		}
		for from := p.From; from < p.To; {
			one := *p
			one.From, one.isSample = from, false
			for more && at >= now.at+(after.at-now.at+1)/2 {
				now = after
				if after, err, more = next(); err != nil {
					return err
				}
			}
			if more {
				one.To = min(p.To, from+now.at+(after.at-now.at+1)/2-at)
			}
			one.Stack = now.stack
			at += one.To - from
			from = one.To
			if err := visit(&one); err != nil {
				return err
			}
		}
		return nil
	})
}
