// Package ringdata reads the records that the kernel programs write to their rings: bpf/ring.h describes their headers,
// bpf/pack.h how most of them are packed. To copy records it is enough to know their lengths ([Room]); a [Decoder] unpacks
// them.
package ringdata

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The header before each record has 8 bytes: 4 with its length and flags, 4 with the lower half of a packed record's time.
// It is 0 while the record is being written. A record takes up a multiple of 8 bytes.
const (
	HeaderBytes = 8
	Discarded   = 1 << 30 // to be skipped
	packed      = 1 << 29
	hasParts    = 1 << 31
	lengthMask  = 1<<13 - 1
	flagsShift  = 13
	kindShift   = 21
)

// Room is the number of bytes that a record takes up, its header included, by the first 4 bytes of the header; 0: it is
// being written.
func Room(header uint32) int {
	length := int(header & lengthMask)
	if length == 0 {
		return 0
	}
	return (length + HeaderBytes + 7) &^ 7
}

// Kinds of records that are packed, or that packed ones follow from: enum rec_kind in bpf/records.h.
const (
	KindSwitch    = 1
	KindWaking    = 2
	KindWakeupNew = 3
	KindReturn    = 67
)

// Offsets in struct rec_hdr, rec_switch, rec_waking and rec_return.
const (
	HdrTime  = 0
	HdrKind  = 8
	HdrFlags = 9
	HdrCPU   = 10
	HdrTID   = 12
	HdrSize  = 16

	SwitchNext      = 16
	SwitchPrevState = 20
	SwitchPrevPrio  = 24
	SwitchNextPrio  = 26
	SwitchDistance  = 28
	SwitchSize      = 32

	WakingWakee  = 16
	WakingPrio   = 20
	WakingTarget = 22
	WakingSize   = 24

	ReturnStacks = 16
	ReturnSize   = 32
)

// Offsets in struct rec_packed_switch, rec_packed_waking and rec_packed_return.
const (
	PackedSwitchNext      = 0
	PackedSwitchPrevState = 4
	PackedSwitchPrevPrio  = 6
	PackedSwitchNextPrio  = 7
	PackedSwitchSize      = 8

	PackedWakingWakee  = 0
	PackedWakingTarget = 4
	PackedWakingPrio   = 6
	PackedWakingSize   = 8

	PackedReturnStacks = 0
	PackedReturnSize   = 16
)

// Offsets in struct rec_parts, the last 8 bytes of a record that has parts, and the bit of the one part that is known here.
const (
	PartsMask   = 0
	PartsWords  = 2
	PartsSize   = 8
	partsMax    = PartsSize - PartsWords
	partStacks  = 1
	StacksBytes = 16 // struct rec_stacks
)

// FlagStacked is set by [Decoder.Append] in the rec_hdr of a record that is followed by a struct rec_stacks.
const FlagStacked = 64

// MinPacked is the fewest bytes that a packed record takes up, and MaxWhole the most that it takes up unpacked; both with the
// header.
const (
	MinPacked = HeaderBytes + PackedSwitchSize
	MaxWhole  = HeaderBytes + SwitchSize
)

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
// bpf/records.h, its stacks if there are any, and zeros up to a multiple of 8. It appends nothing for a discarded record, or a packed one that it skips.
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
	if header&Discarded != 0 {
		return b, n
	}
	body, from := raw[HeaderBytes:HeaderBytes+header&lengthMask], len(b)
	var stacks []byte
	if header&hasParts != 0 {
		var ok bool
		if body, stacks, ok = split(body); !ok {
			return b, -1
		}
	}
	if header&packed != 0 {
		b = d.unpack(b, header, binary.LittleEndian.Uint32(raw[4:]), body)
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
		b = append(b, body...)
		if len(body) >= WakingSize {
			d.note(body)
		}
	}
	if record := b[from:]; stacks != nil && len(record) >= HeaderBytes+HdrSize {
		record[HeaderBytes+HdrFlags] |= FlagStacked
		binary.LittleEndian.PutUint64(record, uint64(len(record)-HeaderBytes+StacksBytes))
		b = append(b, stacks...)
	}
	return append(b, make([]byte, -len(b[from:])&7)...), n
}

// split separates a record from its parts.
func split(body []byte) (record, stacks []byte, ok bool) {
	if len(body) < PartsSize {
		return nil, nil, false
	}
	parts := body[len(body)-PartsSize:]
	mask := binary.LittleEndian.Uint16(parts[PartsMask:])
	count := bits.OnesCount16(mask)
	total := 0
	for _, words := range parts[PartsWords:][:min(count, partsMax)] {
		total += 8 * int(words)
	}
	at := len(body) - PartsSize - total
	if count > partsMax || at < 0 || at%8 != 0 {
		return nil, nil, false
	}
	if mask&partStacks != 0 {
		if parts[PartsWords] != StacksBytes/8 {
			return nil, nil, false
		}
		stacks = body[at : at+StacksBytes]
	}
	return body[:at], stacks, true
}

// note keeps the thread and the time that the packed records after a whole one leave out.
func (d *Decoder) note(body []byte) {
	le := binary.LittleEndian
	if le.Uint16(body[HdrCPU:]) != d.CPU {
		return
	}
	switch body[HdrKind] {
	case KindSwitch:
		d.running = le.Uint32(body[SwitchNext:])
	case KindWaking, KindWakeupNew:
		d.running = le.Uint32(body[HdrTID:])
	default:
		return
	}
	d.known, d.lost, d.time = true, false, int64(le.Uint64(body[HdrTime:]))
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
	kind, flags := uint8(header>>kindShift), uint8(header>>flagsShift)
	le := binary.LittleEndian
	le.PutUint64(record[HdrTime:], uint64(d.time+int64(int32(low-uint32(d.time)))))
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
	_ = record[SwitchSize-1]
	le := binary.LittleEndian
	switch {
	case kind == KindSwitch && len(body) == PackedSwitchSize:
		d.running = le.Uint32(body[PackedSwitchNext:])
		le.PutUint32(record[SwitchNext:], d.running)
		le.PutUint32(record[SwitchPrevState:], uint32(le.Uint16(body[PackedSwitchPrevState:])))
		le.PutUint16(record[SwitchPrevPrio:], priority(body[PackedSwitchPrevPrio]))
		le.PutUint16(record[SwitchNextPrio:], priority(body[PackedSwitchNextPrio]))
		le.PutUint32(record[SwitchDistance:], 0)
		return SwitchSize
	case (kind == KindWaking || kind == KindWakeupNew) && len(body) == PackedWakingSize:
		le.PutUint32(record[WakingWakee:], le.Uint32(body[PackedWakingWakee:]))
		le.PutUint16(record[WakingTarget:], le.Uint16(body[PackedWakingTarget:]))
		le.PutUint16(record[WakingPrio:], priority(body[PackedWakingPrio]))
		return WakingSize
	case kind == KindReturn && len(body) == PackedReturnSize:
		copy(record[ReturnStacks:], body[PackedReturnStacks:])
		return ReturnSize
	}
	return 0
}

// priority is the kernel's s16 of a packed priority, which is one more.
func priority(b byte) uint16 { return uint16(b) + math.MaxUint16 }
