package assemble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"wprof/internal/merge"
	"wprof/internal/ringdata"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// gather reads the spool once before it is finalised, for the frames that will need a name: they are looked up
// module by module. It reads definitions of stacks and the side-band, and skips events.
func (f *finaliser) gather() error {
	code := f.apply.code
	if code.namer == nil || !f.spool.Header().Stacks {
		return nil
	}
	kept, err := readKept(f.spool)
	if err != nil {
		return err
	}
	f.taker.kept, f.taker.gathered = kept, true
	g := newGatherer(f.spool, code, kept)
	maps := code.maps
	code.maps = g.tables
	err = g.run()
	code.maps = maps
	if err != nil {
		return err
	}
	slices.SortFunc(g.jits, func(a, b jitSince) int { return cmp.Compare(a.at, b.at) })
	f.taker.jits = g.jits
	code.names.lookUpAll(code.namer, code.lines, code.modules)
	return nil
}

// readKept reads all KindKept records, and those of functions of kernel modules and in jitdumps, in the order of their times. The
// recorder writes them later than their time.
func readKept(s *spool.Spool) (kept []sideband.Record, err error) {
	scan := s.Scanner(new(spool.Damage))
	for _, c := range s.Base() {
		b, err := scan.Read(&c)
		if err != nil {
			return nil, err
		}
		kept, _ = appendKept(kept, b)
	}
	var end uint64  // position after the chunk before
	var rest []byte // of a record that continues in the next chunk
	for {
		c, err := scan.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if c.Type != spool.ChunkSideband || c.Position < end {
			continue
		}
		b, err := scan.Read(&c)
		if err != nil {
			return nil, err
		}
		if c.Position != end || c.Flags&spool.ChunkWhole != 0 {
			rest = nil
		}
		end = c.Position + uint64(c.Length)
		kept, rest = appendKept(kept, append(rest, b...))
	}
	slices.SortStableFunc(kept, func(a, b sideband.Record) int { return cmp.Compare(a.Time, b.Time) })
	return kept, nil
}

// maxKept bounds the records that are read beforehand; others apply from where they are. There are as many of functions in jitdumps.
const maxKept = 1 << 18

// appendKept also returns the remaining bytes.
func appendKept(kept []sideband.Record, b []byte) (_ []sideband.Record, rest []byte) {
	var r sideband.Record
	for {
		_, length := merge.SidebandRecord(b, &r)
		if length == 0 {
			if len(b) > sideband.MaxRecord {
				b = nil // damage
			}
			return kept, b
		}
		b = b[length:]
		ofModule := r.Kind == sideband.KindFunction && len(r.Data) > 0 && isFunction(&r)
		if r.Kind != sideband.KindKept && r.Kind != sideband.KindCode && !ofModule || len(kept) >= maxKept {
			continue
		}
		own := r
		own.BuildID, own.Path, own.Data = bytes.Clone(r.BuildID), nil, nil
		if ofModule {
			own.Path, own.Data = bytes.Clone(r.Path), bytes.Clone(r.Data)
		}
		if r.Kind == sideband.KindCode {
			own.Path = pathOf(kept, r.Path)
		}
		kept = append(kept, own)
	}
}

// pathOf returns a path that outlives its record: that of the last one if it is the same.
func pathOf(kept []sideband.Record, path []byte) []byte {
	if last := len(kept) - 1; last >= 0 && bytes.Equal(kept[last].Path, path) {
		return kept[last].Path
	}
	return bytes.Clone(path)
}

// gatherer reads the definitions of stacks in a spool, with mappings of its own.
type gatherer struct {
	in      *merge.Reader
	code    *code // of the finaliser that comes after it
	tables  *sideband.Tables
	kept    []sideband.Record // by time; those before the last mapping were applied
	r       sideband.Record
	seen    map[gathered]struct{}
	jits    []jitSince
	blocked []spool.Chunk
}

// gathered is a stack whose places were noted, with the mappings of that version.
type gathered struct{ id, version uint64 }

// maxGathered bounds the stacks that are not resolved again in each generation that defines them.
const maxGathered = 1 << 18

func newGatherer(s *spool.Spool, c *code, kept []sideband.Record) *gatherer {
	g := &gatherer{code: c, kept: kept, tables: sideband.NewTables(), seen: make(map[gathered]struct{})}
	g.in = merge.NewStackReader(s, merge.Handlers{
		Record: g.takeStack, Sideband: g.takeMapping,
		Define: func([]byte) {}, SidebandLost: func(int64, int64) error { return nil }, Round: func(int64, int64) {},
		Chunk: func(c *spool.Chunk) error {
			if c.Type == spool.ChunkBlocked {
				g.blocked = append(g.blocked, *c)
			}
			return nil
		},
	})
	return g
}

func (g *gatherer) run() error {
	for {
		more, err := g.in.NextRound()
		if err != nil {
			return err
		}
		if !more {
			g.in.Drain()
		}
		if _, err := g.in.Until(g.in.Watermark()); err != nil {
			return err
		}
		if !more {
			return eachBlocked(g.in, g.blocked, g.takeBlocked)
		}
	}
}

// takeBlocked notes the places where a thread is blocked at the end.
func (g *gatherer) takeBlocked(b []byte) {
	if b[ringdata.HdrKind] != ringdata.KindBlocked {
		return
	}
	split := ringdata.BlockedAddrs + 8*int(binary.LittleEndian.Uint32(b[ringdata.BlockedKernelCount:]))
	g.notePlaces(0, b[ringdata.BlockedAddrs:split], true)
	words := split + 8*int(binary.LittleEndian.Uint32(b[ringdata.BlockedUserCount:]))
	g.notePlaces(binary.LittleEndian.Uint32(b[ringdata.BlockedPID:]), b[split:words], false)
}

func (g *gatherer) takeMapping(b []byte, at int64) error {
	if _, length := merge.SidebandRecord(b, &g.r); length == 0 {
		return nil
	}
	g.applyKept(at)
	if g.r.Kind != sideband.KindCode {
		g.tables.Apply(&g.r)
	}
	if g.r.Kind == sideband.KindJIT && len(g.jits) < maxJits {
		g.jits = append(g.jits, jitSince{g.r.Time, g.r.PID})
	}
	return nil
}

// applyKept applies the records that are known beforehand.
func (g *gatherer) applyKept(at int64) {
	for ; len(g.kept) > 0 && g.kept[0].Time <= at; g.kept = g.kept[1:] {
		g.tables.Apply(&g.kept[0])
	}
}

// takeStack notes the places of a stack with the current mappings.
func (g *gatherer) takeStack(b []byte, at int64) error {
	if b[ringdata.HdrKind] != ringdata.KindStack || g.code.names.full() {
		return nil
	}
	g.applyKept(at)
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
	g.notePlaces(pid, raw[:8*min(int(le.Uint16(b[ringdata.StackCount:])), len(raw)/8)], false)
	return nil
}

// notePlaces notes the places of one part of a stack; called: the innermost one is a return address too.
func (g *gatherer) notePlaces(pid uint32, raw []byte, called bool) {
	for i := 0; i < len(raw) && !g.code.names.full(); i += 8 {
		caller := i > 0 || called
		address, _ := cutMark(binary.LittleEndian.Uint64(raw[i:]))
		m, offset := g.code.locate(pid, address, caller)
		if m.wanted {
			g.code.names.note(m, symbol.Address{Offset: offset, Caller: caller})
		}
	}
}
