package merge

import (
	"encoding/binary"
	"slices"

	"wprof/internal/ringdata"
	"wprof/internal/sideband"
)

func (s *source) load(e *extent) error {
	if e.hole {
		s.addHole()
		return nil
	}
	if e.last {
		s.complete, s.listed = s.intact, s.listed || s.intact
		return nil
	}
	if e.whole && (s.parsed < len(s.buf) || len(s.rest) > 0) && !s.tasks {
		s.addHole() // the rest of a record is missing
	}
	if !s.tasks && !s.side {
		return s.loadRing(e)
	}
	n := len(s.buf)
	s.buf = slices.Grow(s.buf, int(e.length))[:n+int(e.length)]
	if ok, err := s.scan.ReadAt(s.buf[n:], e.offset, e.crc); !ok {
		s.buf = s.buf[:n]
		s.addHole()
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
		s.addHole()
		return err
	}
	if s.inside && !e.whole {
		return nil
	}
	s.inside = false
	s.parse(raw)
	return nil
}

// addHole puts a record where bytes are missing. What follows can be read only where a record is known to begin.
func (s *source) addHole() {
	if s.tasks {
		s.intact = false
		return
	}
	s.inside = true
	s.announced, s.rest = s.announced[:0], s.rest[:0]
	s.decoder.Lost()
	if s.hole {
		s.buf = s.buf[:s.parsed]
		return
	}
	s.scan.Damage.Holes++
	s.buf = s.buf[:s.parsed]
	s.hole, s.holeAt = true, s.base+uint64(s.parsed)
	if s.side {
		s.holeSince = s.newest
		return
	}
	s.buf = appendHole(s.buf, s.newest)
	s.parsed = len(s.buf)
}

func appendHole(b []byte, from int64) []byte {
	var record [ringdata.HeaderBytes + holeSize]byte
	le := binary.LittleEndian
	le.PutUint32(record[:], holeSize)
	record[ringdata.HeaderBytes+ringdata.HdrKind] = KindHole
	le.PutUint64(record[ringdata.HeaderBytes+HoleFrom:], uint64(from))
	return append(b, record[:]...)
}

// parse unpacks the records in a ring's bytes, and keeps the beginning of the last one if its end is missing.
func (s *source) parse(raw []byte) {
	for n := 0; len(raw) > 0; raw = raw[n:] {
		at := len(s.buf)
		s.buf, n = s.decoder.Append(s.buf, raw)
		if n == 0 {
			break
		}
		if n < 0 {
			s.parsed = len(s.buf)
			s.addHole()
			return
		}
		if s.skips || s.decoder.Skipped {
			at = s.noteSkipped(at)
		}
		if len(s.buf) > at && !s.addRecord(at) {
			s.buf = s.buf[:at]
		}
	}
	s.parsed = len(s.buf)
	s.rest = append(s.rest[:0], raw...)
}

// noteSkipped notes that packed records are skipped. If the record at a place of buf ends that, it puts a hole before it. It
// returns the record's place.
func (s *source) noteSkipped(at int) int {
	if s.decoder.Skipped && !s.skips && !s.hole {
		s.skips, s.skipSince = true, s.newest
	}
	s.decoder.Skipped = false
	if !s.skips || !s.decoder.Known() || len(s.buf) == at {
		return at
	}
	record := slices.Clone(s.buf[at:])
	s.buf = append(appendHole(s.buf[:at], s.skipSince), record...)
	s.skips = false
	s.insert(RecordTime(recordAt(record)), s.base+uint64(at))
	return len(s.buf) - len(record)
}

// addRecord sorts the record at an offset in buf into the order of time. It returns false for an unknown record.
func (s *source) addRecord(at int) bool {
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
		s.followReturns(b, time, position)
	}
	return true
}

func (s *source) parseSide() {
	var r sideband.Record
	for s.parsed < len(s.buf) {
		time, length := SidebandRecord(s.buf[s.parsed:], &r)
		if length == 0 {
			if len(s.buf)-s.parsed > sideband.MaxRecord {
				s.addHole()
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
	for ; len(s.buf)-s.parsed >= s.taskSize; s.parsed += s.taskSize {
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

// recordAt is the record at the beginning of b, without its header.
func recordAt(b []byte) []byte {
	length := binary.LittleEndian.Uint32(b)
	return b[ringdata.HeaderBytes : ringdata.HeaderBytes+length]
}
