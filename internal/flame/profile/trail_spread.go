package profile

import (
	"encoding/binary"
	"errors"
	"iter"

	"wprof/internal/timeline"
)

// addSamples appends the samples of a running interval.
func (t *threadTrail) addSamples(s *timeline.Span, inside []sampled) error {
	for _, one := range inside {
		at := t.onCPU + one.at - s.From
		b := binary.AppendUvarint(t.samples.Buffer(), uint64(at-t.sampled))
		if err := t.samples.Commit(binary.AppendUvarint(b, uint64(one.stack.node))); err != nil {
			return err
		}
		t.sampled = at
	}
	t.onCPU += s.To - s.From
	return nil
}

// placedSample is a sample and the time that its thread was on the CPU before it.
type placedSample struct {
	at    int64
	stack NodeID
}

var errEnough = errors.New("enough")

// eachSample yields the samples in order. If they cannot be read, it yields an error as the last.
func (t *threadTrail) eachSample() iter.Seq2[placedSample, error] {
	return func(yield func(placedSample, error) bool) {
		var one placedSample
		err := t.samples.Each(func(chunk []byte) error {
			for d := (pieceDecoder{rest: chunk}); len(d.rest) > 0; {
				one.at += int64(d.uvarint())
				if one.stack = NodeID(d.uvarint()); d.failed {
					return errChanged
				}
				if !yield(one, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(placedSample{}, err)
		}
	}
}

// spreadTrail is a trail in which each moment on the CPU has the stack of the thread's nearest sample, in its time on the CPU. This
// is as right on average as proportions, and shows each stack where it was sampled.
type spreadTrail struct {
	*threadTrail
	notSampled NodeID
}

// Each visits the pieces, those on the CPU cut where another sample becomes the nearest.
func (t spreadTrail) Each(visit func(*Piece) error) error {
	next, stop := iter.Pull2(t.eachSample())
	defer stop()
	s := nearest{next: next, stack: t.notSampled}
	if err := s.first(); err != nil {
		return err
	}
	onCPU := int64(0)
	return t.threadTrail.Each(func(p *Piece) error {
		if p.Class != ClassOnCPU {
			return visit(p)
		}
		one := *p
		for one.From < p.To {
			if err := s.forward(onCPU); err != nil {
				return err
			}
			one.To, one.Stack = p.To, s.stack
			if s.more {
				one.To = min(p.To, one.From+s.until-onCPU)
			}
			onCPU += one.To - one.From
			if err := visit(&one); err != nil {
				return err
			}
			one.From = one.To
		}
		return nil
	})
}

// nearest is the sample that is nearest to a moment of a thread's time on the CPU.
type nearest struct {
	next  func() (placedSample, error, bool)
	stack NodeID
	at    int64
	after placedSample // the next one
	more  bool         // there is one
	until int64        // where the next one is as near
}

// first takes the first sample, if there is any.
func (s *nearest) first() error {
	one, err, found := s.next()
	if err != nil || !found {
		return err
	}
	s.after = one
	return s.step()
}

// step takes the next sample.
func (s *nearest) step() (err error) {
	s.at, s.stack = s.after.at, s.after.stack
	s.after, err, s.more = s.next()
	s.until = s.at + (s.after.at-s.at+1)/2
	return err
}

// forward goes on to the sample that is nearest to a later moment.
func (s *nearest) forward(to int64) error {
	for s.more && to >= s.until {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}
