// Package ringdata reads the records that the kernel programs write to their rings: bpf/ring.h describes their headers,
// bpf/pack.h how most of them are packed. To copy records it is enough to know their lengths ([Room]); a [Decoder] unpacks
// them.
package ringdata

//go:generate go run ./internal/gen ../../bpf/wprof_x86_bpfel_linux.o ../../bpf/wprof_arm64_bpfel_linux.o

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// HeaderBytes is the length of the header before each record: 4 bytes are enum rec_header with the record's length below the
// flags, 4 the lower half of a packed record's time. The first 4 are 0 while the record is being written. A record takes up a
// multiple of 8 bytes.
const HeaderBytes = 8

const (
	lengthMask      = 1<<HeaderFlagsShift - 1
	wholeLengthMask = 1<<HeaderKindShift - 1 // of a record that is not packed, whose header has no flags
)

func lengthOf(header uint32) int {
	if header&HeaderPacked == 0 {
		return int(header & wholeLengthMask)
	}
	return int(header & lengthMask)
}

// Room is the number of bytes that a record takes up, its header included, by the first 4 bytes of the header; 0: it is
// being written.
func Room(header uint32) int {
	length := lengthOf(header)
	if length == 0 {
		return 0
	}
	return (length + HeaderBytes + 7) &^ 7
}

// Tally counts the events of a run of whole records, without decoding them, and those that the run reports as lost.
func Tally(run []byte) (events, lost uint64) {
	for len(run) > HeaderBytes {
		header := binary.LittleEndian.Uint32(run)
		room := Room(header)
		if room <= HeaderBytes || room > len(run) {
			break
		}
		body := run[HeaderBytes:room]
		run = run[room:]
		switch kind := KindOf(header, body); {
		case header&HeaderDiscarded != 0:
		case kind == KindLost:
			lost += lostEvents(body)
		case kind == KindMissing:
			lost += missingEvents(body)
		case kind < KindEvents:
			events++
		}
	}
	return events, lost
}

// KindOf returns the kind of a record; KindEvents: it is too short to have one.
func KindOf(header uint32, body []byte) uint8 {
	switch {
	case header&HeaderPacked != 0:
		return uint8(header >> HeaderKindShift)
	case len(body) <= HdrKind:
		return KindEvents
	}
	return body[HdrKind]
}

// lostEvents adds up the counts of a rec_lost. The first is of definitions, which are no events.
func lostEvents(body []byte) (sum uint64) {
	if len(body) < LostSize {
		return 0
	}
	for at := LostCounts + 4; at < LostCounts+LostCountsSize; at += 4 {
		sum += uint64(binary.LittleEndian.Uint32(body[at:]))
	}
	return sum
}

// missingEvents is the same of a rec_missing; what a limit left out is not lost.
func missingEvents(body []byte) (sum uint64) {
	if len(body) < MissingSize || binary.LittleEndian.Uint32(body[MissingCause:]) == MissingCauseLimit {
		return 0
	}
	for at := MissingCounts + 4; at < MissingCounts+MissingCountsSize; at += 4 {
		sum += uint64(binary.LittleEndian.Uint32(body[at:]))
	}
	return sum
}

// FlagParts is set by [Decoder.Append] in the rec_hdr of a record that is followed by a struct rec_stacks and a struct rec_wait_part, and
// perhaps a struct rec_counts_part; of one of the first two that it does not have all ids are 0.
const (
	FlagParts = 64
	partsSize = StacksSize + WaitPartSize

	// MaxCounters is the most values of a struct rec_counts_part.
	MaxCounters   = 8
	maxCountsSize = CountsPartSize + 8*MaxCounters
)

// MinPacked is the fewest bytes that a packed record takes up, and MaxWhole the most that it takes up unpacked; both with the
// header.
const (
	MinPacked = HeaderBytes + PackedSwitchSize
	MaxWhole  = HeaderBytes + ReturnSize

	firstPackedReturnSize = 16 // without a wait
)

// Record is what a kernel program writes for an event of a kind.
type Record struct {
	Kind   uint8
	Size   int // bytes, without what follows a flexible array's beginning
	Fields []Field
}

// Field is a field of a record.
type Field struct {
	Name         string
	Offset, Size int // bytes; the size of a flexible array is 0
	Signed       bool
}

// Decoder unpacks the records of one ring, in the ring's order. It may start at any record: it skips packed ones until a
// whole switch or waking gives what they leave out.
type Decoder struct {
	CPU     uint16 // number of the ring: only the CPU of this number packs
	Skipped bool   // set when a packed record is skipped because of missing bytes; the caller resets it
	lost    bool   // bytes are missing since known was true
	known   bool   // what packed records leave out
	time    int64  // of the last whole switch or waking, CLOCK_MONOTONIC ns
	running uint32
}

// Lost is to be called where bytes are missing: packed records are then skipped as at the start.
func (d *Decoder) Lost() { d.known, d.lost = false, true }

// Known reports whether packed records can be unpacked.
func (d *Decoder) Known() bool { return d.known }

// Append appends the first record of raw to b, unpacked: 4 bytes with its length, 4 that are 0, the struct of
// bpf/records.h, its parts if there are any, and zeros up to a multiple of 8. It appends nothing for a discarded record, or a
// packed one that it skips.
// n is how many bytes of raw the record takes up; 0: raw ends within the record; negative: raw does not begin with a record.
func (d *Decoder) Append(b, raw []byte) (appended []byte, n int) {
	if len(raw) < HeaderBytes {
		return b, 0
	}
	header := binary.LittleEndian.Uint32(raw)
	n = Room(header)
	if n == 0 {
		return b, -1
	}
	if n > len(raw) {
		return b, 0
	}
	if header&HeaderDiscarded != 0 {
		return b, n
	}
	body, from := raw[HeaderBytes:HeaderBytes+lengthOf(header)], len(b)
	var parts [partsSize]byte
	var counts []byte
	hasParts := false
	if header&HeaderParts != 0 {
		var ok bool
		if body, counts, hasParts, ok = split(body, &parts); !ok {
			return b, -1
		}
	}
	if header&HeaderPacked != 0 {
		b = d.unpack(b, header, binary.LittleEndian.Uint32(raw[4:]), body)
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
		b = append(b, body...)
		if len(body) >= WakingSize {
			d.note(body)
		}
	}
	if record := b[from:]; hasParts && len(record) >= HeaderBytes+HdrSize {
		record[HeaderBytes+HdrFlags] |= FlagParts
		binary.LittleEndian.PutUint64(record, uint64(len(record)-HeaderBytes+partsSize+len(counts)))
		b = append(append(b, parts[:]...), counts...)
	}
	return append(b, make([]byte, -len(b[from:])&7)...), n
}

// split returns a record without its parts, and whether it has any that this version knows: it copies those of fixed size, and returns
// the counts.
func split(body []byte, to *[partsSize]byte) (record, counts []byte, hasParts, ok bool) {
	if len(body) < PartsSize {
		return nil, nil, false, false
	}
	parts := body[len(body)-PartsSize:]
	mask := binary.LittleEndian.Uint16(parts[PartsMask:])
	count := bits.OnesCount16(mask)
	total := 0
	for _, words := range parts[PartsWords:][:min(count, PartsWordsSize)] {
		total += 8 * int(words)
	}
	at := len(body) - PartsSize - total
	if count > PartsWordsSize || at < 0 || at%8 != 0 {
		return nil, nil, false, false
	}
	record = body[:at]
	for _, known := range [...]struct{ mask, to, size int }{{PartStacks, 0, StacksSize}, {PartWait, StacksSize, WaitPartSize}} {
		if int(mask)&known.mask == 0 {
			continue
		}
		if int(parts[PartsWords]) != known.size/8 {
			return nil, nil, false, false
		}
		hasParts = true
		copy(to[known.to:], body[at:at+known.size])
		at += known.size
		parts = parts[1:]
	}
	if mask&PartCounts != 0 {
		size := 8 * int(parts[PartsWords])
		if size < CountsPartSize || size > maxCountsSize {
			return nil, nil, false, false
		}
		hasParts, counts = true, body[at:at+size]
	}
	return record, counts, hasParts, true
}

// note keeps the thread and the time that the packed records after a whole one leave out.
func (d *Decoder) note(body []byte) {
	le := binary.LittleEndian
	if le.Uint16(body[HdrCPU:]) != d.CPU {
		return
	}
	switch body[HdrKind] {
	case KindSwitch:
		d.running = le.Uint32(body[SwitchNextTID:])
	case KindWaking, KindWakeupNew:
		d.running = le.Uint32(body[HdrTID:])
	default:
		return
	}
	d.known, d.lost, d.time = true, false, int64(le.Uint64(body[HdrTS:]))
}

func (d *Decoder) unpack(b []byte, header, low uint32, body []byte) []byte {
	if !d.known {
		d.Skipped = d.Skipped || d.lost
		return b
	}
	from := len(b)
	b = slices.Grow(b, MaxWhole)[:from+MaxWhole]
	whole := b[from:]
	record := whole[HeaderBytes:]
	kind, flags := uint8(header>>HeaderKindShift), uint8(header>>HeaderFlagsShift)
	le := binary.LittleEndian
	le.PutUint64(record[HdrTS:], uint64(d.time+int64(int32(low-uint32(d.time)))))
	le.PutUint64(record[HdrKind:], uint64(kind)|uint64(flags)<<8|uint64(d.CPU)<<16|uint64(d.running)<<32)
	size := d.fill(record, kind, body)
	if size == 0 {
		return b[:from]
	}
	le.PutUint64(whole, uint64(size))
	return b[:from+HeaderBytes+size]
}

// fill writes the fields of a kind, and returns the length of the record; 0: the kind or its length is unknown.
func (d *Decoder) fill(record []byte, kind uint8, body []byte) int {
	_ = record[ReturnSize-1]
	le := binary.LittleEndian
	switch {
	case kind == KindSwitch && len(body) == PackedSwitchSize:
		d.running = le.Uint32(body[PackedSwitchNextTID:])
		le.PutUint32(record[SwitchNextTID:], d.running)
		le.PutUint32(record[SwitchPrevState:], uint32(le.Uint16(body[PackedSwitchPrevState:])))
		le.PutUint16(record[SwitchPrevPrio:], priority(body[PackedSwitchPrevPrio]))
		le.PutUint16(record[SwitchNextPrio:], priority(body[PackedSwitchNextPrio]))
		le.PutUint32(record[SwitchDistance:], 0)
		return SwitchSize
	case (kind == KindWaking || kind == KindWakeupNew) && len(body) == PackedWakingSize:
		le.PutUint32(record[WakingWakeeTID:], le.Uint32(body[PackedWakingWakeeTID:]))
		le.PutUint16(record[WakingTargetCPU:], le.Uint16(body[PackedWakingTargetCPU:]))
		le.PutUint16(record[WakingPrio:], priority(body[PackedWakingPrio]))
		return WakingSize
	case kind == KindReturn && (len(body) == PackedReturnSize || len(body) == firstPackedReturnSize):
		clear(record[ReturnStacks:ReturnSize])
		copy(record[ReturnStacks:], body[PackedReturnStacks:])
		return ReturnSize
	}
	return 0
}

// priority is the kernel's s16 of a packed priority, which is stored plus one.
func priority(b byte) uint16 { return uint16(b) + math.MaxUint16 }
