package profile

import (
	"encoding/binary"
	"errors"
	"iter"

	"wprof/internal/spill"
	"wprof/internal/timeline"
)

// trailSamples are the samples of a thread in order: its own time on the CPU since the one before, and the stack.
type trailSamples struct {
	few   []byte       // until there are many
	chain *spill.Chain // nil: all are in few
	at    int64        // ns on the CPU before the last one
}

// fewSampleBytes is the size up to which samples are kept in memory: most threads have few, and a chain takes more.
const fewSampleBytes = 256

// addSamples appends the samples of a running interval.
func (t *threadTrail) addSamples(all *trails, s *timeline.Span, inside []sampled) error {
	if t.samples == nil && len(inside) > 0 {
		t.samples = new(trailSamples)
	}
	rest, in := s.Interrupts, int64(0) // ns of interrupts before a sample
	for _, one := range inside {
		for len(rest) > 0 && rest[0].To <= one.at {
			in += rest[0].To - rest[0].From
			rest = rest[1:]
		}
		at := one.at
		if len(rest) > 0 {
			at = min(at, rest[0].From)
		}
		if err := t.samples.add(all, t.onCPU+at-s.From-in, one.stack.node); err != nil {
			return err
		}
	}
	t.onCPU += s.To - s.From - s.InterruptTime()
	return nil
}

func (s *trailSamples) add(all *trails, at int64, stack NodeID) error {
	ns := uint64(at - s.at)
	s.at = at
	if s.chain == nil {
		s.few = binary.AppendUvarint(binary.AppendUvarint(s.few, ns), uint64(stack))
		if len(s.few) < fewSampleBytes {
			return nil
		}
		few := s.few
		s.few, s.chain = nil, all.Chain()
		return s.chain.Commit(append(s.chain.Buffer(), few...))
	}
	return s.chain.Commit(binary.AppendUvarint(binary.AppendUvarint(s.chain.Buffer(), ns), uint64(stack)))
}

// each visits the samples as bytes.
func (s *trailSamples) each(visit func([]byte) error) error {
	switch {
	case s == nil:
		return nil
	case s.chain == nil:
		return visit(s.few)
	}
	return s.chain.Each(visit)
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
		err := t.samples.each(func(chunk []byte) error {
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

// eachSpread visits the pieces, those on the CPU with the stack of the thread's nearest sample in its time on the CPU, and cut where another
// sample becomes the nearest. This is as right on average as proportions, and shows each stack where it was sampled.
func (t *threadTrail) eachSpread(visit func(*Piece) error) error {
	next, stop := iter.Pull2(t.eachSample())
	defer stop()
	s := nearest{next: next, stack: t.notSampled}
	if err := s.first(); err != nil {
		return err
	}
	onCPU := int64(0)
	return t.each(func(p *Piece) error {
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
