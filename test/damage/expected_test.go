//go:build linux

package damage

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"wprof/format"
)

// piece is one block of an intact stream, found here by FORMAT.md and not by the reader that is tested.
type piece struct {
	at, size int
	typ      byte
	sequence uint32
	events   []format.Event // of an event block
	lines    []string       // that wprof-info --dump has for them
}

// events are all events of a stream's blocks one after the other.
func eventsOf(pieces []piece) []format.Event {
	var all []format.Event
	for _, p := range pieces {
		all = append(all, p.events...)
	}
	return all
}

const headerBytes = 72

// dissect goes from block to block of a stream in which nothing is damaged.
func dissect(t testing.TB, stream []byte) []piece {
	t.Helper()
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	var all []piece
	for at := 0; at < len(stream); {
		h := stream[at:]
		if len(h) < headerBytes || string(h[:8]) != "\x89WPR\r\n\x1a\n" || crc32.Checksum(h[:68], table) != le.Uint32(h[68:]) {
			t.Fatalf("at byte %d: no header of a block", at)
		}
		stored := h[headerBytes:][:le.Uint32(h[48:])]
		if crc32.Checksum(stored, table) != le.Uint32(h[60:]) {
			t.Fatalf("at byte %d: the payload does not match its checksum", at)
		}
		p := piece{at: at, size: headerBytes + len(stored), typ: h[8], sequence: le.Uint32(h[16:])}
		if p.typ == 3 {
			p.events = decode(t, h, stored)
		}
		all = append(all, p)
		at += p.size
	}
	return all
}

// decode returns the events of an event block.
func decode(t testing.TB, header, stored []byte) []format.Event {
	t.Helper()
	h, err := format.ParseBlockHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	payload := stored
	if h.Flags&format.BlockZstd != 0 {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		if payload, err = dec.DecodeAll(stored, nil); err != nil {
			t.Fatal(err)
		}
	}
	var all []format.Event
	err = format.DecodeEvents(&format.Block{Header: h, Payload: payload}, func(e *format.Event) error {
		c := *e
		c.Data = bytes.Clone(e.Data)
		all = append(all, c)
		return nil
	})
	if err != nil || len(all) != int(h.Events) {
		t.Fatalf("got %d events of %d: %v", len(all), h.Events, err)
	}
	return all
}

// same reports whether an event is unchanged. The source of samples is defined in the header, so it can be lost.
func same(got, want *format.Event) bool {
	a, b := *got, *want
	if a.Kind == format.KindSample && a.Args[format.SampleSource] == 0 {
		b.Args[format.SampleSource] = 0
	}
	return a.Time == b.Time && a.Own == b.Own && a.Kind == b.Kind && a.Flags == b.Flags && a.CPU == b.CPU &&
		a.Task == b.Task && a.Args == b.Args && bytes.Equal(a.Data, b.Data)
}

// isDamage reports whether an event is the loss that stands for damage.
func isDamage(e *format.Event) bool {
	return e.Kind == format.KindLost && e.CPU == format.AllCPUs && format.Cause(e.Args[format.LostCause]) == format.CauseDamage
}

// damaged is a change of a stream.
type damaged struct {
	what     string
	stream   []byte
	from, to int     // the bytes that are not as they were, or missing
	moved    bool    // blocks were taken out, repeated or swapped, and the bytes are as they were
	kept     []piece // of such a stream: those whose events are delivered, in order
}

func (d *damaged) leaves(p *piece) bool { return p.at >= d.to || p.at+p.size <= d.from }

// expected is the result that a damaged stream must have.
type expected struct {
	whole  []piece
	status int
	// silent: nothing is touched but definitions and events, which the summary of a regular file does not read.
	silent bool
	// moved: the text form has the blocks in another order, or twice.
	moved bool
}

func expect(pieces []piece, d *damaged) expected {
	if d.moved {
		return expected{whole: d.kept, status: 4, moved: true}
	}
	r := expected{status: 4}
	for i := range pieces {
		p := &pieces[i]
		if d.leaves(p) {
			r.whole = append(r.whole, *p)
		}
		r.silent = r.silent || (p.typ == 2 || p.typ == 3) && d.from >= p.at+headerBytes && d.to <= p.at+p.size
	}
	switch last := len(r.whole) - 1; {
	case last < 0:
		r.status = 1
	case d.to > len(d.stream) && d.from == r.whole[last].at+r.whole[last].size && isLast(&r.whole[last], pieces):
		r.status = 0 // cut between two recordings, each of which is a stream
	}
	return r
}

// isLast reports whether a piece is the end block of a recording's last section. The capture's first recording has two,
// the second one has one.
func isLast(p *piece, pieces []piece) bool {
	ends := 0
	for i := range pieces {
		if pieces[i].typ == 5 {
			if ends++; pieces[i].at == p.at {
				return ends > 1
			}
		}
	}
	return false
}

// gaps is the number of places where events are missing and a loss must be reported: before whole blocks of events, and at the end. Nothing
// is lost by damage between an end block and the header after it: FORMAT.md, Damage.
func (r *expected) gaps(pieces []piece) (n int) {
	missing := false
	for _, p := range pieces {
		if len(p.events) == 0 {
			continue
		}
		isWhole := slices.ContainsFunc(r.whole, func(w piece) bool { return w.at == p.at })
		if isWhole && missing {
			n++
		}
		missing = !isWhole
	}
	if missing && r.status == 4 && r.whole[len(r.whole)-1].typ != 5 {
		n++
	}
	return n
}

// problem returns what is wrong with the events of a damaged stream; "": nothing.
func (r *expected) problem(pieces []piece, got []format.Event) string {
	next := 0
	skip := func() bool { // the loss covers what is missing from here to the next block that is there
		for ; next < len(pieces); next++ {
			if len(pieces[next].events) > 0 && slices.ContainsFunc(r.whole, func(p piece) bool { return p.at == pieces[next].at }) {
				return true
			}
		}
		return false
	}
	reported, missing := false, false
	for i := 0; i < len(got); {
		if isDamage(&got[i]) {
			reported = true
			i++
			continue
		}
		before := next
		if !skip() {
			return "there are more events than the whole blocks hold"
		}
		missing = slices.ContainsFunc(pieces[before:next], func(p piece) bool { return len(p.events) > 0 })
		if missing && !reported {
			return "events are missing and no loss is reported"
		}
		reported = false
		want := pieces[next].events
		if len(got)-i < len(want) {
			return "a whole block is not delivered to its end"
		}
		for j := range want {
			if !same(&got[i+j], &want[j]) {
				return "an event is not as it was: " + event(&got[i+j]) + ", want " + event(&want[j])
			}
		}
		i += len(want)
		next++
	}
	before := next
	if skip() {
		return "a whole block is not delivered"
	}
	// Nothing is lost by damage between an end block and the header after it: FORMAT.md, Damage.
	if r.whole[len(r.whole)-1].typ == 5 {
		return ""
	}
	if !reported && slices.ContainsFunc(pieces[before:], func(p piece) bool { return len(p.events) > 0 }) && r.status == 4 {
		return "events are missing at the end and no loss is reported"
	}
	return ""
}
