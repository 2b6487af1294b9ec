package format

import "encoding/binary"

// repeats are records that were decoded before. Most of a busy capture's differ from an earlier one in nothing but their times:
// 97 % of those of the ping-pong of the benchmarks, 60 % of those of a compiler. Copying one takes half of the time to decode it.
type repeats [1 << 9]repeat

// repeat is a decoded record without its times.
type repeat struct {
	key   recordKey
	flags Flags
	cpu   uint32
	task  TaskID
	args  [MaxArgs]uint64
}

// recordKey holds all bytes of a record of 8 to 24 bytes; some of them twice.
type recordKey struct {
	first, middle, last uint64
	size                int
}

func keyOf(rec []byte) (key recordKey, ok bool) {
	if len(rec) < 8 || len(rec) > 24 {
		return key, false
	}
	key = recordKey{first: binary.LittleEndian.Uint64(rec), last: binary.LittleEndian.Uint64(rec[len(rec)-8:]), size: len(rec)}
	if len(rec) > 16 {
		key.middle = binary.LittleEndian.Uint64(rec[8:])
	}
	return key, true
}

// find returns the place of a record, which may hold another one.
func (r *repeats) find(key recordKey) *repeat {
	const odd = 0x9e3779b97f4a7c15
	hash := ((key.first*odd^key.last)*odd ^ key.middle) * odd
	return &r[hash>>(64-9)]
}
