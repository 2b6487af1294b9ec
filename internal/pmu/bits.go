package pmu

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// field is where the value of a term goes: a file of the folder format, as config:0-7,32-35.
type field struct {
	word int // of config, config1, config2 and config3
	mask uint64
}

// parseField reads a file of the folder format.
func parseField(text string) (field, error) {
	name, ranges, ok := strings.Cut(text, ":")
	f := field{word: configWord(name)}
	if !ok || f.word < 0 {
		return field{}, fmt.Errorf("%q does not begin with config, config1, config2 or config3 and a colon", clip(text))
	}
	for one := range strings.SplitSeq(ranges, ",") {
		low, high, isRange := strings.Cut(one, "-")
		from, err := strconv.ParseUint(low, 10, 8)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(high, 10, 8)
		}
		if err != nil || from > to || to > 63 {
			return field{}, fmt.Errorf("%q has bits that are not a range within 0-63", clip(text))
		}
		f.mask |= ^uint64(0) >> (63 - (to - from)) << from
	}
	return f, nil
}

// configWord returns the number of a word of config; -1: it is none.
func configWord(name string) int {
	for i, word := range configWords() {
		if name == word {
			return i
		}
	}
	return -1
}

func configWords() []string { return []string{"config", "config1", "config2", "config3"} }

// most is the largest value of the field.
func (f field) most() uint64 {
	if n := bits.OnesCount64(f.mask); n < 64 {
		return 1<<n - 1
	}
	return ^uint64(0)
}

// spread distributes the bits of a value over the field, the lowest first.
func (f field) spread(value uint64) (all uint64) {
	for left := f.mask; left != 0; left &= left - 1 {
		if value&1 != 0 {
			all |= left & -left
		}
		value >>= 1
	}
	return all
}
