package merge

import (
	"math"

	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// source is one ring, or the side-band, or the lists of tasks, as a sequence of records in the order of time.
//
// A ring is nearly in this order: a program reserves its record before it reads the clock, and another one can come
// in between. Bytes of the ring that are not needed yet stay in the file; of the others a source holds as many as it
// has room for, sorted, and yields those that no unread record can be older than. The bound is a round's clock: records
// that were reserved after it are not older. If the buffer is full before the end of the round, the older half is yielded as
// if it were certain; if a later record is older after all, its event is written as late.
type source struct {
	scan     *spool.Scanner // reads the file
	index    int
	tasks    bool // records are rec_task structs without headers
	taskSize int  // of each of them
	side     bool // records are those of internal/sideband
	take     func(record []byte, time int64) error
	room     int // bytes that buf may hold before it yields the older half
	sizes    [256]uint16

	extents []extent
	front   int // extents before it are done with
	seen    bool
	end     uint64 // position in the ring up to which there are extents
	mark    int64  // everything older has a position before end
	waits   []wait

	rest      []byte  // of a ring: the beginning of a record whose end is not read yet
	scratch   *[]byte // of a ring: the bytes being parsed; all rings share it
	decoder   ringdata.Decoder
	buf       []byte // of a ring: unpacked records
	base      uint64 // of buf[0], in bytes since the beginning of the source
	parsed    int    // in buf
	inside    bool   // the bytes to come begin within a record whose beginning is lost
	entries   []entry
	at        int // entries before it are done with
	messy     bool
	bound     int64 // entries before it can be taken
	newest    int64 // latest time of all records so far
	hole      bool  // the record at holeAt waits for the time of the next one
	holeAt    uint64
	skips     bool       // of a ring: packed records are skipped behind missing bytes, without a hole so far
	skipSince int64      // time of the last record before them
	holeSince int64      // of the side-band: time of the last record before it
	holes     []sideHole // of the side-band: where bytes are missing

	announced []announced
	resolved  []resolved
	early     func(definition []byte) // of a ring: takes a rec_stack or rec_wait before its turn
	starts    []listStart             // of tasks: the lists that were read and not taken yet
	intact    bool                    // of tasks: of the list that was read last, nothing is missing so far
	complete  bool                    // of tasks: the list that was read last has all its parts
	listed    bool                    // of tasks: one list was complete
}

// extent is a piece of the spool file, or a hole where one is missing.
type extent struct {
	offset int64
	length uint32
	crc    uint32
	whole  bool // it begins with a whole record; of tasks: it begins a list
	last   bool // of tasks: a list ends here
	hole   bool
}

// listStart is where a list of tasks begins.
type listStart struct {
	time  int64 // of its first record
	after bool  // the list before it is complete
}

// wait is a round that found a busy record: its clock counts when everything before position has been drained.
type wait struct {
	position uint64
	time     int64
}

const never = math.MaxInt64

// roundEnded raises the mark to the clock of the latest round all of whose records have been drained.
func (s *source) roundEnded(time int64, producer, drained uint64) {
	done := 0
	for done < len(s.waits) && s.waits[done].position <= drained {
		s.mark = s.waits[done].time
		done++
	}
	s.waits = append(s.waits[:0], s.waits[done:]...)
	if producer <= drained {
		s.mark = time
	} else if n := len(s.waits); n > 0 && s.waits[n-1].position == producer {
		s.waits[n-1].time = time
	} else if n < maxWaits {
		s.waits = append(s.waits, wait{producer, time})
	}
}

// maxWaits bounds the memory for a ring in which a busy record is never finished. Rounds beyond it do not count.
const maxWaits = 4096

// append adds the bytes of one chunk. Repeats, which the overlap of two generations is made of, are dropped.
func (s *source) append(c *spool.Chunk) {
	e := extent{offset: c.Payload, length: c.Length, crc: c.CRC, whole: c.Flags&spool.ChunkWhole != 0, last: s.tasks && c.Flags&spool.ChunkLast != 0}
	if s.seen && c.Position < s.end {
		return
	}
	s.reach(c.Position)
	s.end = c.Position + uint64(c.Length)
	s.push(e)
}

// reach notes that there are no more bytes up to a position: if some are missing, there is a hole.
func (s *source) reach(position uint64) {
	if s.seen && position > s.end {
		s.push(extent{hole: true})
	}
	if !s.seen || position > s.end {
		s.seen, s.end = true, position
	}
}

func (s *source) push(e extent) {
	if s.front > 64 && s.front*2 > len(s.extents) {
		s.extents = append(s.extents[:0], s.extents[s.front:]...)
		s.front = 0
	}
	s.extents = append(s.extents, e)
}

// ready reports whether there is a record that can be taken and is older than limit.
func (s *source) ready(limit int64) (bool, error) {
	for {
		if s.at < len(s.entries) && s.entries[s.at].time < s.bound {
			if len(s.announced) == 0 || s.front == len(s.extents) || !s.announces(s.entries[s.at].at) {
				return s.entries[s.at].time < limit, nil
			}
			if err := s.readToReturn(); err != nil {
				return false, err
			}
			continue
		}
		if s.front == len(s.extents) {
			s.sort()
			s.bound = s.mark
			return s.at < len(s.entries) && s.entries[s.at].time < min(s.bound, limit), nil
		}
		if s.bound >= limit && s.at < len(s.entries) {
			return false, nil
		}
		if err := s.fill(); err != nil {
			return false, err
		}
	}
}

// fill reads as much as there is room for.
func (s *source) fill() error {
	s.compact()
	for s.front < len(s.extents) && len(s.buf) < s.room {
		e := s.extents[s.front]
		s.front++
		if err := s.load(&e); err != nil {
			return err
		}
	}
	s.sort()
	if s.front == len(s.extents) {
		s.bound = s.mark
		return nil
	}
	s.bound = math.MinInt64
	if rest := s.entries[s.at:]; len(rest) > 0 {
		s.bound = max(rest[len(rest)/2].time, rest[0].time+1)
	}
	return nil
}

// readToReturn reads the next extent, because the return that the first record announces is not in the buffer.
func (s *source) readToReturn() error {
	if len(s.buf) >= 2*s.room {
		s.announced = s.announced[:0]
		return nil
	}
	e := s.extents[s.front]
	s.front++
	err := s.load(&e)
	s.sort()
	return err
}

// compact frees the bytes of records that are done with.
func (s *source) compact() {
	n := copy(s.entries, s.entries[s.at:])
	s.entries, s.at = s.entries[:n], 0
	from := s.base + uint64(s.parsed)
	for i := range s.entries {
		from = min(from, s.entries[i].at)
	}
	if s.hole {
		from = min(from, s.holeAt)
	}
	n = copy(s.buf, s.buf[from-s.base:])
	s.parsed -= int(from - s.base)
	s.buf, s.base = s.buf[:n], from
}

// record is the record of an entry without the ring's header. Of the side-band, it is followed by others.
func (s *source) record(e *entry) []byte {
	b := s.buf[e.at-s.base:]
	if s.tasks {
		return b[:s.taskSize]
	}
	if s.side {
		return b
	}
	return recordAt(b)
}

// offset is up to where the file is no longer needed by this source.
func (s *source) offset(scanned int64) int64 {
	if s.front < len(s.extents) {
		for _, e := range s.extents[s.front:] {
			if !e.hole {
				return e.offset
			}
		}
	}
	return scanned
}
