package filter

import (
	"fmt"
	"strconv"
	"strings"
)

const maxCPU = 1<<16 - 1

// CPUSet is a set of CPUs.
type CPUSet struct {
	bits []uint64
	text string
}

// ParseCPUs reads lists like 0-3,7.
func ParseCPUs(lists []string) (*CPUSet, error) {
	s := &CPUSet{text: strings.Join(lists, ",")}
	for word := range strings.SplitSeq(s.text, ",") {
		first, last, isRange := strings.Cut(word, "-")
		from, err := parseCPU(first)
		to := from
		if err == nil && isRange {
			to, err = parseCPU(last)
		}
		if err != nil || to < from {
			return nil, fmt.Errorf("%q is not a list of CPUs like 0-3,7", s.text)
		}
		for cpu := from; cpu <= to; cpu++ {
			s.add(cpu)
		}
	}
	return s, nil
}

func parseCPU(word string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32)
	if err == nil && n > maxCPU {
		err = fmt.Errorf("no machine has a CPU %d", n)
	}
	return int(n), err
}

func (s *CPUSet) add(cpu int) {
	for len(s.bits) <= cpu/64 {
		s.bits = append(s.bits, 0)
	}
	s.bits[cpu/64] |= 1 << (cpu % 64)
}

// Has reports whether a CPU is in the set; format.AllCPUs is in none. A nil set has every CPU.
func (s *CPUSet) Has(cpu uint32) bool {
	if s == nil {
		return true
	}
	word := uint64(cpu / 64)
	return word < uint64(len(s.bits)) && s.bits[word]&(1<<(cpu%64)) != 0
}

func (s *CPUSet) String() string { return s.text }
