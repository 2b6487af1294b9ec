package profile

import (
	"encoding/binary"
	"errors"

	"wprof/format"
	"wprof/internal/spill"
	"wprof/internal/waits"
)

// trails stores the trails of threads, in memory or in a temporary file.
type trails struct{ *spill.Store }

// threadTrail is the trail of one thread.
type threadTrail struct {
	chain *spill.Chain
	open  *Piece // the last one, which may be extended; nil if there is none
	until int64  // where the last piece in the chain ends

	// With Options.Spread on-CPU pieces have no stack, and the samples are apart: see trail_spread.go.
	notSampled NodeID // the stack of on-CPU time if there are no samples; 0 without Options.Spread
	onCPU      int64  // ns so far
	samples    *trailSamples
}

// newTrails returns a trails that keeps at most limit bytes in memory.
func newTrails(limit int) *trails {
	return &trails{spill.NewStore(limit, "what threads did in order of time")}
}

// thread begins the trail of another thread. It can be read until the trails are closed.
func (s *trails) thread() *threadTrail { return &threadTrail{chain: s.Chain()} }

// add appends a piece, which must not begin before the end of the one before. An empty piece is left out, and one that
// continues the last one extends it.
func (t *threadTrail) add(p Piece) error {
	if p.To <= p.From {
		return nil
	}
	if t.open == nil {
		t.open = new(Piece)
	} else if p.continues(t.open) {
		t.open.To = p.To
		return nil
	} else if err := t.store(); err != nil {
		return err
	}
	*t.open = p
	return nil
}

// end completes the trail of a thread that has ended.
func (t *threadTrail) end() error {
	if t.open == nil {
		return nil
	}
	err := t.store()
	t.open = nil
	return err
}

// store puts the open piece into the chain.
func (t *threadTrail) store() error {
	b := appendPiece(t.chain.Buffer(), t.open, t.until)
	t.until = t.open.To
	return t.chain.Commit(b)
}

// appendPiece encodes a piece after one that ended at until.
func appendPiece(b []byte, p *Piece, until int64) []byte {
	b = binary.AppendUvarint(b, uint64(p.Class))
	b = binary.AppendVarint(b, p.From-until)
	b = binary.AppendUvarint(b, uint64(p.To-p.From))
	b = binary.AppendUvarint(b, uint64(p.State))
	b = append(b, byte(p.Wait.Class), byte(p.Wait.Idle))
	b = binary.AppendUvarint(b, uint64(p.CPU+1)) // NoCPU, the largest, becomes the shortest
	b = binary.AppendUvarint(b, uint64(p.Label))
	return binary.AppendUvarint(b, uint64(p.Stack))
}

// Each visits the pieces, even while more are being added.
func (t *threadTrail) Each(visit func(*Piece) error) error {
	if t.notSampled != 0 {
		return t.eachSpread(visit)
	}
	return t.each(visit)
}

func (t *threadTrail) each(visit func(*Piece) error) error {
	var until int64
	err := t.chain.Each(func(chunk []byte) (err error) {
		until, err = eachPiece(chunk, until, visit)
		return err
	})
	if err != nil || t.open == nil {
		return err
	}
	open := *t.open
	return visit(&open)
}

// eachPiece decodes a chunk after a piece that ended at until, and returns where its own last one ends.
func eachPiece(chunk []byte, until int64, visit func(*Piece) error) (int64, error) {
	d := pieceDecoder{rest: chunk}
	for len(d.rest) > 0 && !d.failed {
		var p Piece
		p.Class = Class(d.uvarint())
		p.From = until + d.varint()
		p.To = p.From + int64(d.uvarint())
		p.State = format.State(d.uvarint())
		p.Wait = waits.Result{Class: waits.Class(d.byte()), Idle: waits.Idle(d.byte())}
		p.CPU = uint32(d.uvarint()) - 1
		p.Label = LabelID(d.uvarint())
		p.Stack = NodeID(d.uvarint())
		if d.failed {
			break
		}
		until = p.To
		if err := visit(&p); err != nil {
			return 0, err
		}
	}
	if d.failed {
		return 0, errChanged
	}
	return until, nil
}

var errChanged = errors.New("read back what threads did in order of time: the temporary file was changed by others")

// pieceDecoder reads numbers from the front of a chunk until one is incomplete.
type pieceDecoder struct {
	rest   []byte
	failed bool
}

func (d *pieceDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *pieceDecoder) byte() (b byte) {
	if len(d.rest) > 0 {
		b = d.rest[0]
	}
	d.skip(min(1, len(d.rest)))
	return b
}

func (d *pieceDecoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *pieceDecoder) skip(n int) {
	if n <= 0 {
		d.failed = true
		return
	}
	d.rest = d.rest[n:]
}
