package spool

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"wprof/internal/ringdata"
	"wprof/internal/sideband"
)

// gather goes over the spool once before it is finalised, for the frames that will want a name: they are asked for
// module by module. It reads definitions of stacks and the side-band, and steps over every event.
func (f *finaliser) gather() error {
	code := f.apply.code
	if code.namer == nil || !f.first.stacks {
		return nil
	}
	var err error
	if f.taker.kept, err = f.readKept(); err != nil {
		return err
	}
	g := newGatherer(f)
	g.taker.kept = f.taker.kept
	maps := code.maps
	code.maps = g.taker.tables
	err = g.run()
	code.maps = maps
	if err != nil {
		return err
	}
	slices.SortFunc(g.jits, func(a, b jitSince) int { return cmp.Compare(a.at, b.at) })
	f.taker.jits = g.jits
	code.names.askAll(code.namer, code.modules)
	return nil
}

// readKept reads all KindKept records, and those of functions of kernel modules, in the order of their times. The recorder
// writes both later than their time.
func (f *finaliser) readKept() (kept []sideband.Record, err error) {
	scan := scanner{r: f.scan.r, limit: f.scan.limit, damage: new(Damage)}
	var end uint64  // position after the chunk before
	var rest []byte // of a record that goes on in the next chunk
	for {
		c, err := scan.chunk()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if c.typ != chunkSideband || c.position < end {
			continue
		}
		b, err := scan.read(&c)
		if err != nil {
			return nil, err
		}
		if c.position != end || c.flags&chunkWhole != 0 {
			rest = nil
		}
		end = c.position + uint64(c.length)
		kept, rest = appendKept(kept, append(rest, b...))
	}
	slices.SortStableFunc(kept, func(a, b sideband.Record) int { return cmp.Compare(a.Time, b.Time) })
	return kept, nil
}

// maxKept bounds the records that are read beforehand; others apply from where they are.
const maxKept = 1 << 17

// appendKept also returns the remaining bytes.
func appendKept(kept []sideband.Record, b []byte) (_ []sideband.Record, rest []byte) {
	var r sideband.Record
	for {
		_, length := sideRecord(b, &r)
		if length == 0 {
			if len(b) > sideband.MaxRecord {
				b = nil // damage
			}
			return kept, b
		}
		b = b[length:]
		ofModule := r.Kind == sideband.KindFunction && len(r.Data) > 0 && isFunction(&r)
		if r.Kind != sideband.KindKept && !ofModule || len(kept) >= maxKept {
			continue
		}
		own := r
		own.BuildID, own.Path, own.Data = bytes.Clone(r.BuildID), nil, nil
		if ofModule {
			own.Path, own.Data = bytes.Clone(r.Path), bytes.Clone(r.Data)
		}
		kept = append(kept, own)
	}
}

// gatherer reads a spool for the sake of its definitions of stacks, with mappings of its own.
type gatherer struct {
	*finaliser
	code *code // of the finaliser that comes after it
	seen map[gathered]struct{}
	jits []jitSince
}

// gathered is a stack whose places were noted, with the mappings of that version.
type gathered struct{ id, version uint64 }

// maxGathered bounds what keeps a stack from being looked at again in each generation that tells it.
const maxGathered = 1 << 18

func newGatherer(of *finaliser) *gatherer {
	f := newFinaliser(of.spool, nil, Options{})
	g := &gatherer{finaliser: f, code: of.apply.code, seen: make(map[gathered]struct{})}
	// Damage is counted by who comes after.
	damage := new(Damage)
	f.scan.damage = damage
	var sizes [256]uint16
	sizes[ringdata.KindStack] = ringdata.StackSize
	for _, s := range f.merge.sources {
		s.damage, s.sizes, s.take = damage, sizes, g.takeStack
	}
	f.side.take = g.takeMapping
	return g
}

func (g *gatherer) run() error {
	for {
		more, err := g.scanRound()
		if err != nil {
			return err
		}
		if !more {
			for _, s := range g.merge.sources {
				s.mark = never
			}
			if _, err := g.merge.until(never, never); err != nil {
				return err
			}
			return g.eachBlocked(g.takeBlocked)
		}
		if _, err := g.merge.until(g.watermark(), never); err != nil {
			return err
		}
	}
}

// takeBlocked notes the places where a thread is blocked at the end.
func (g *gatherer) takeBlocked(b []byte) {
	split := ringdata.BlockedAddrs + 8*int(binary.LittleEndian.Uint32(b[ringdata.BlockedKernelCount:]))
	g.notePlaces(0, b[ringdata.BlockedAddrs:split], true)
	g.notePlaces(binary.LittleEndian.Uint32(b[ringdata.BlockedPID:]), b[split:], false)
}

func (g *gatherer) takeMapping(b []byte, at int64) error {
	r := &g.taker.r
	if _, length := sideRecord(b, r); length == 0 {
		return nil
	}
	g.taker.applyKept(at)
	g.taker.tables.Apply(r)
	if r.Kind == sideband.KindJIT && len(g.jits) < maxJits {
		g.jits = append(g.jits, jitSince{r.Time, r.PID})
	}
	return nil
}

// takeStack notes the places of a stack, as they are with the mappings of now.
func (g *gatherer) takeStack(b []byte, _ int64) error {
	if b[ringdata.HdrKind] != ringdata.KindStack || g.code.names.full() {
		return nil
	}
	le := binary.LittleEndian
	pid := le.Uint32(b[ringdata.StackPID:])
	key := gathered{id: le.Uint64(b[ringdata.StackID:])}
	if pid != 0 {
		key.version = g.code.maps.Version(pid)
	}
	if _, ok := g.seen[key]; ok {
		return nil
	}
	if len(g.seen) >= maxGathered {
		clear(g.seen)
	}
	g.seen[key] = struct{}{}
	raw := b[ringdata.StackAddrs:]
	g.notePlaces(pid, raw[:8*min(int(le.Uint32(b[ringdata.StackCount:])), len(raw)/8)], false)
	return nil
}

// notePlaces notes the places of one part of a stack; called: the innermost one is a return address too.
func (g *gatherer) notePlaces(pid uint32, raw []byte, called bool) {
	for i := 0; i < len(raw) && !g.code.names.full(); i += 8 {
		caller := i > 0 || called
		m, offset := g.code.locate(pid, binary.LittleEndian.Uint64(raw[i:]), caller)
		if m.wanted {
			g.code.names.note(m, Address{Offset: offset, Caller: caller})
		}
	}
}
