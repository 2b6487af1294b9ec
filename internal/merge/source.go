package merge

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"wprof/internal/ringdata"
	"wprof/internal/sideband"
	"wprof/internal/spool"
)

// source is one ring, or the side-band, or the lists of tasks, as a sequence of records in the order of time.
//
// A ring is nearly in this order: a program reserves its record before it reads the clock, and another one can come
// in between. Bytes of the ring that are not needed yet stay in the file; of the others a source holds as many as it
// has room for, sorted, and yields those that nothing still unread can be older than. A round's clock says so: what
// was reserved after it is not older. If room ends before the round does, the older half is taken for certain; that
// has been wrong if a later record turns up older, and then it is written as late.
type source struct {
	scan  *spool.Scanner // reads the file
	index int
	tasks bool // records are rec_task structs without headers
	side  bool // records are those of internal/sideband
	take  func(record []byte, time int64) error
	room  int // bytes that buf may hold before it yields the older half
	sizes [256]uint16

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
	gap       bool  // the record at gapAt waits for the time of the next one
	gapAt     uint64
	skips     bool      // of a ring: packed records are skipped behind missing bytes, without a gap so far
	skipSince int64     // time of the last record before them
	gapSince  int64     // of the side-band: time of the last record before it
	gaps      []sideGap // of the side-band: where bytes are missing

	announced []announced
	resolved  []resolved
	early     func(stack []byte) // of a ring: takes a rec_stack before its turn
	starts    []listStart        // of tasks: the lists that were read and not taken yet
	intact    bool               // of tasks: of the list that was read last, nothing is missing so far
	complete  bool               // of tasks: the list that was read last has all its parts
	listed    bool               // of tasks: one list was complete
}

// extent is a piece of the spool file, or a gap where there should have been one.
type extent struct {
	offset int64
	length uint32
	crc    uint32
	whole  bool // it begins with a record; of tasks: it begins a list
	last   bool // of tasks: a list ends here
	gap    bool
}

// listStart is where a list of tasks begins.
type listStart struct {
	time  int64 // of its first record
	after bool  // the list before it is complete
}

// entry is one record: its time and where it stands, in bytes since the beginning of the source.
type entry struct {
	time int64
	at   uint64
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

// maxWaits bounds what a ring that never goes on makes its source remember. Rounds beyond it do not count.
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

// reach notes that there are no bytes up to a position. It is a gap if there should be some.
func (s *source) reach(position uint64) {
	if s.seen && position > s.end {
		s.push(extent{gap: true})
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
			if err := s.lookBehind(); err != nil {
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

// lookBehind reads on where the return that the first record announces is not in the buffer.
func (s *source) lookBehind() error {
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
	if s.gap {
		from = min(from, s.gapAt)
	}
	n = copy(s.buf, s.buf[from-s.base:])
	s.parsed -= int(from - s.base)
	s.buf, s.base = s.buf[:n], from
}

func (s *source) load(e *extent) error {
	if e.gap {
		s.hole()
		return nil
	}
	if e.last {
		s.complete, s.listed = s.intact, s.listed || s.intact
		return nil
	}
	if e.whole && (s.parsed < len(s.buf) || len(s.rest) > 0) && !s.tasks {
		s.hole() // half a record, and its rest is not to come
	}
	if !s.tasks && !s.side {
		return s.loadRing(e)
	}
	n := len(s.buf)
	s.buf = slices.Grow(s.buf, int(e.length))[:n+int(e.length)]
	if ok, err := s.scan.ReadAt(s.buf[n:], e.offset, e.crc); !ok {
		s.buf = s.buf[:n]
		s.hole()
		return err
	}
	if s.inside && !e.whole && !s.tasks {
		s.buf = s.buf[:n]
		return nil
	}
	s.inside = false
	if s.tasks {
		s.parseTasks(e.whole)
	} else {
		s.parseSide()
	}
	return nil
}

func (s *source) loadRing(e *extent) error {
	n := len(s.rest)
	raw := append((*s.scratch)[:0], s.rest...)
	raw = slices.Grow(raw, int(e.length))[:n+int(e.length)]
	*s.scratch = raw
	if ok, err := s.scan.ReadAt(raw[n:], e.offset, e.crc); !ok {
		s.hole()
		return err
	}
	if s.inside && !e.whole {
		return nil
	}
	s.inside = false
	s.parse(raw)
	return nil
}

// hole puts a record where bytes are missing. What follows can be read only where a record is known to begin.
func (s *source) hole() {
	if s.tasks {
		s.intact = false
		return
	}
	s.inside = true
	s.announced, s.rest = s.announced[:0], s.rest[:0]
	s.decoder.Lost()
	if s.gap {
		s.buf = s.buf[:s.parsed]
		return
	}
	s.scan.Damage.Holes++
	s.buf = s.buf[:s.parsed]
	s.gap, s.gapAt = true, s.base+uint64(s.parsed)
	if s.side {
		s.gapSince = s.newest
		return
	}
	s.buf = appendGap(s.buf, s.newest)
	s.parsed = len(s.buf)
}

func appendGap(b []byte, from int64) []byte {
	var record [ringdata.HeaderBytes + gapSize]byte
	le := binary.LittleEndian
	le.PutUint32(record[:], gapSize)
	record[ringdata.HeaderBytes+ringdata.HdrKind] = KindGap
	le.PutUint64(record[ringdata.HeaderBytes+GapFrom:], uint64(from))
	return append(b, record[:]...)
}

// parse unpacks the records in a ring's bytes, and keeps the beginning of one that raw does not have the end of.
func (s *source) parse(raw []byte) {
	for n := 0; len(raw) > 0; raw = raw[n:] {
		at := len(s.buf)
		s.buf, n = s.decoder.Append(s.buf, raw)
		if n == 0 {
			break
		}
		if n < 0 {
			s.parsed = len(s.buf)
			s.hole()
			return
		}
		if s.skips || s.decoder.Skipped {
			at = s.noteSkipped(at)
		}
		if len(s.buf) > at && !s.notice(at) {
			s.buf = s.buf[:at]
		}
	}
	s.parsed = len(s.buf)
	s.rest = append(s.rest[:0], raw...)
}

// noteSkipped notes that packed records are skipped. If the record at a place of buf ends that, a gap goes before it. It returns
// the record's place.
func (s *source) noteSkipped(at int) int {
	if s.decoder.Skipped && !s.skips && !s.gap {
		s.skips, s.skipSince = true, s.newest
	}
	s.decoder.Skipped = false
	if !s.skips || !s.decoder.Known() || len(s.buf) == at {
		return at
	}
	record := slices.Clone(s.buf[at:])
	s.buf = append(appendGap(s.buf[:at], s.skipSince), record...)
	s.skips = false
	s.insert(RecordTime(recordAt(record)), s.base+uint64(at))
	return len(s.buf) - len(record)
}

// notice sorts the record at an offset in buf into the order of time. It returns false if this version does not know it.
func (s *source) notice(at int) bool {
	b := recordAt(s.buf[at:])
	if len(b) < ringdata.HdrSize {
		return false
	}
	kind := b[ringdata.HdrKind]
	if need := int(s.sizes[kind]); need == 0 || len(b) < need || kind == ringdata.KindTask {
		return false
	}
	time, position := RecordTime(b), s.base+uint64(at)
	if kind != ringdata.KindReturn {
		s.insert(time, position)
	}
	if kind == ringdata.KindSwitch && (b[ringdata.HdrFlags]&ringdata.FlagAnnounced != 0 || len(s.announced) > 0) || kind >= ringdata.KindStack {
		s.note(b, time, position)
	}
	return true
}

func (s *source) parseSide() {
	var r sideband.Record
	for s.parsed < len(s.buf) {
		time, length := SidebandRecord(s.buf[s.parsed:], &r)
		if length == 0 {
			if len(s.buf)-s.parsed > sideband.MaxRecord {
				s.hole()
			}
			return
		}
		s.insert(time, s.base+uint64(s.parsed))
		s.parsed += length
	}
}

func (s *source) parseTasks(begins bool) {
	after := s.complete
	if begins {
		s.intact, s.complete = true, false
	}
	for ; len(s.buf)-s.parsed >= ringdata.TaskSize; s.parsed += ringdata.TaskSize {
		b := s.buf[s.parsed:]
		if b[ringdata.HdrKind] != ringdata.KindTask {
			continue
		}
		time := int64(binary.LittleEndian.Uint64(b[ringdata.HdrTS:]))
		if begins {
			s.starts = append(s.starts, listStart{time, after})
			begins = false
		}
		s.insert(time, s.base+uint64(s.parsed))
	}
	s.buf = s.buf[:s.parsed]
}

// insert puts a record into its place, which is nearly always the end.
func (s *source) insert(time int64, at uint64) {
	if s.gap {
		s.gap = false
		if !s.side {
			s.insert(time, s.gapAt)
		} else if len(s.gaps) < maxWaits {
			s.gaps = append(s.gaps, sideGap{s.gapSince, time})
		}
	}
	i := len(s.entries)
	s.entries = append(s.entries, entry{time, at})
	if time >= s.newest {
		s.newest = time
		return
	}
	// Inversions span a few records: what an interrupt's programs write while another program works.
	for steps := 0; i > s.at && s.entries[i-1].time > time; i-- {
		if steps++; steps > 32 {
			s.messy = true
			break
		}
		s.entries[i] = s.entries[i-1]
	}
	s.entries[i] = entry{time, at}
}

func (s *source) sort() {
	if !s.messy {
		return
	}
	s.messy = false
	slices.SortFunc(s.entries[s.at:], func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.at, b.at))
	})
}

// record is the record of an entry without the ring's header. Of the side-band, it is followed by others.
func (s *source) record(e *entry) []byte {
	b := s.buf[e.at-s.base:]
	if s.tasks {
		return b[:ringdata.TaskSize]
	}
	if s.side {
		return b
	}
	return recordAt(b)
}

// recordAt is the record at the beginning of b, without its header.
func recordAt(b []byte) []byte {
	length := binary.LittleEndian.Uint32(b)
	return b[ringdata.HeaderBytes : ringdata.HeaderBytes+length]
}

// offset is up to where the file is no longer needed by this source.
func (s *source) offset(scanned int64) int64 {
	if s.front < len(s.extents) {
		for _, e := range s.extents[s.front:] {
			if !e.gap {
				return e.offset
			}
		}
	}
	return scanned
}
