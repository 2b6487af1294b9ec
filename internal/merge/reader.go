package merge

import (
	"errors"
	"io"
	"math"

	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// bufferBytes is what the buffers of all rings may hold together; see [source].
const bufferBytes = 32 << 20

// Handlers are called with what a [Reader] reads, in the order of time. All must be set.
type Handlers struct {
	// Record takes a record of a ring, without the ring's header, or a struct rec_task of a list.
	Record func(b []byte, at int64) error
	// Define takes a rec_stack or rec_wait as soon as it is read; Record takes it again when its turn comes.
	Define func(b []byte)
	// Sideband takes the side-band record that b begins with.
	Sideband func(b []byte, at int64) error
	// SidebandLost is called before the first side-band record after missing ones; the last one before them was at from.
	SidebandLost func(from, at int64) error
	// Round is called when a round ends; opened is when the window opened, 0 if it has not.
	Round func(opened, at int64)
	// Chunk takes chunks of other types when they are reached in the file, and those of lists of tasks before their records.
	Chunk func(c *spool.Chunk) error
}

// Reader reads a spool once, from its beginning to its end: the headers of a round's chunks, then the records that
// this round makes certain.
type Reader struct {
	handlers Handlers
	scan     spool.Scanner
	rings    []*source
	tasks    *source
	side     *source
	merge    merger
	round    int64 // time of the last round
}

// NewReader returns a Reader of all records. Damage that it finds is counted in the spool.
func NewReader(s *spool.Spool, h Handlers) *Reader {
	return newReader(s, h, s.RecountDamage(), recordSizes())
}

// NewStackReader returns a Reader that leaves out all records of rings but rec_stack, and counts no damage.
func NewStackReader(s *spool.Spool, h Handlers) *Reader {
	var sizes [256]uint16
	sizes[ringdata.KindStack] = ringdata.StackSize
	return newReader(s, h, new(spool.Damage), sizes)
}

func newReader(s *spool.Spool, h Handlers, damage *spool.Damage, sizes [256]uint16) *Reader {
	r := &Reader{handlers: h, scan: s.Scanner(damage)}
	rings := s.Header().Rings
	piece := spool.PieceBytes(rings)
	// A piece grows when its packed records are unpacked.
	room := max(bufferBytes/max(rings, 1)-piece*ringdata.MaxWhole/ringdata.MinPacked, piece)
	add := func(index int) *source {
		src := &source{scan: &r.scan, index: index, room: min(room, 1<<20), sizes: sizes, mark: math.MinInt64, bound: math.MinInt64, newest: math.MinInt64, take: h.Record, early: h.Define}
		// The rings of a recording begin at 0; those of a later generation anywhere.
		src.seen = s.HasBeginning()
		r.merge.sources = append(r.merge.sources, src)
		return src
	}
	scratch := new([]byte)
	for i := range rings {
		ring := add(i)
		ring.decoder.CPU, ring.scratch = uint16(i), scratch
		r.rings = append(r.rings, ring)
	}
	r.tasks = add(rings)
	r.tasks.tasks, r.tasks.taskSize, r.tasks.mark = true, s.Header().TaskSize, never
	// First at equal times, because a mapping applies to samples of the same time.
	r.side = add(-1)
	r.side.side, r.side.take = true, r.takeSideband
	for _, c := range s.Base() {
		r.side.push(extent{offset: c.Payload, length: c.Length, crc: c.CRC, whole: true})
	}
	return r
}

// NextRound reads the headers of chunks up to the end of the next round. It returns false when no whole round is left.
func (r *Reader) NextRound() (bool, error) {
	for {
		c, err := r.scan.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch c.Type {
		case spool.ChunkRing:
			if int(c.Ring) < len(r.rings) {
				r.rings[c.Ring].append(&c)
			}
		case spool.ChunkSideband:
			r.side.append(&c)
		case spool.ChunkRound:
			if is, err := r.endRound(&c); is || err != nil {
				return is, err
			}
		case spool.ChunkTasks:
			r.tasks.append(&c)
			fallthrough
		default:
			if err := r.handlers.Chunk(&c); err != nil {
				return false, err
			}
		}
	}
}

// endRound notes which records a round makes certain. A round that is there a second time makes none.
func (r *Reader) endRound(c *spool.Chunk) (bool, error) {
	time := int64(c.Position)
	if time <= r.round || int(c.Length) != spool.RoundBytes(len(r.rings)) {
		return false, nil
	}
	b, err := r.scan.Read(c)
	if err != nil || b == nil {
		return false, err
	}
	r.handlers.Round(spool.RoundOpen(b), time)
	r.round = time
	r.side.mark = time
	for i, s := range r.rings {
		producer, drained := spool.RoundPositions(b, i)
		s.reach(drained)
		s.roundEnded(time, producer, drained)
	}
	return true, nil
}

// Watermark is the time before which every record has been read from its ring.
func (r *Reader) Watermark() int64 {
	w := int64(never)
	for _, s := range r.rings {
		w = min(w, s.mark)
	}
	return w
}

// Until takes the records before a time that are certain, and returns before which time they have been taken.
func (r *Reader) Until(limit int64) (reached int64, err error) {
	return r.merge.until(limit, r.Watermark())
}

// ReadAhead reads the rings, other than the one whose record is being taken, up to a time: [Handlers.Stack] takes the
// definitions there before their turn.
func (r *Reader) ReadAhead(to int64) error { return r.merge.readAhead(to) }

// takeSideband takes a side-band record, and reports before it which ones are missing.
func (r *Reader) takeSideband(record []byte, at int64) error {
	for len(r.side.holes) > 0 && r.side.holes[0].to <= at {
		from := r.side.holes[0].from
		r.side.holes = r.side.holes[1:]
		if err := r.handlers.SidebandLost(from, at); err != nil {
			return err
		}
	}
	return r.handlers.Sideband(record, at)
}

// NextList returns whether a list of tasks begins with a record at or before a time, and whether the list before it was
// complete. It returns each list once.
func (r *Reader) NextList(at int64) (begins, afterComplete bool) {
	if len(r.tasks.starts) == 0 || at < r.tasks.starts[0].time {
		return false, false
	}
	afterComplete = r.tasks.starts[0].after
	r.tasks.starts = r.tasks.starts[1:]
	return true, afterComplete
}

// HasList reports whether a complete list of tasks was read.
func (r *Reader) HasList() bool { return r.tasks.listed }

// Drain makes all records certain: nothing follows. It returns since when records are missing because they are behind
// one that was still being written when draining ended; never: none are.
func (r *Reader) Drain() (held int64) {
	held = never
	for _, s := range r.rings {
		if len(s.waits) > 0 {
			held = min(held, s.mark)
		}
		s.mark = never
	}
	r.side.mark = never
	return held
}

// OpenHoles calls ring with the time since which records of a ring are missing without one after them, for each such ring;
// then side in the same way.
func (r *Reader) OpenHoles(ring, side func(from int64) error) error {
	for _, s := range r.rings {
		from := s.newest
		if s.skips {
			from = s.skipSince
		}
		if s.hole || s.skips {
			if err := ring(from); err != nil {
				return err
			}
		}
	}
	if r.side.hole {
		return side(r.side.holeSince)
	}
	return nil
}

// Payload is the payload of a chunk, valid until the next call of any method; nil if it is damaged.
func (r *Reader) Payload(c *spool.Chunk) ([]byte, error) { return r.scan.Read(c) }

// Reject counts a chunk as damaged.
func (r *Reader) Reject(c *spool.Chunk) { r.scan.Reject(c) }

// Extend lets the Reader of a growing spool read up to an offset in the file.
func (r *Reader) Extend(limit int64) { r.scan.Limit = limit }

// Limit is the offset in the file up to which chunks are read.
func (r *Reader) Limit() int64 { return r.scan.Limit }

// Offset is up to where in the file headers were read.
func (r *Reader) Offset() int64 { return r.scan.Offset() }

// Done is up to where the file is no longer needed.
func (r *Reader) Done() int64 {
	done := r.scan.Offset()
	for _, s := range r.merge.sources {
		done = min(done, s.offset(r.scan.Offset()))
	}
	return done
}
