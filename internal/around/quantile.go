package around

import (
	"encoding/binary"
	"math"

	"wprof/internal/spill"
)

// durations are those of one condition, of which a quantile is the limit. They are kept in a temporary file, because a quantile that is
// exact needs all of them.
type durations struct {
	chain *spill.Chain
	count uint64
}

func (d *durations) add(ns int64) error {
	d.count++
	return d.chain.Commit(binary.AppendUvarint(d.chain.Buffer(), uint64(max(0, ns))))
}

const digitBits = 16

// value returns the value of a rank, from 1. Each time that the values are read, another 16 of its bits are found, the highest first.
func (d *durations) value(rank uint64) (int64, error) {
	if d.count == 0 {
		return math.MaxInt64, nil
	}
	found := uint64(0)
	for shift := 64 - digitBits; shift >= 0; shift -= digitBits {
		counts := make([]uint64, 1<<digitBits)
		err := d.chain.Each(func(b []byte) error {
			for len(b) > 0 {
				v, n := binary.Uvarint(b)
				if n <= 0 {
					return errChanged
				}
				if b = b[n:]; v>>shift>>digitBits == found {
					counts[v>>shift&(1<<digitBits-1)]++
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		digit := uint64(0)
		for digit < 1<<digitBits-1 && counts[digit] < rank {
			rank -= counts[digit]
			digit++
		}
		found = found<<digitBits | digit
	}
	return int64(found), nil
}
