package pmu

import (
	"fmt"
	"strconv"
	"strings"
)

// CPUs is a list of CPUs as in a file of sysfs: 0-3,8.
type CPUs struct {
	Text   string
	ranges []cpuRange
}

type cpuRange struct{ first, last int }

// ParseCPUs reads a list. An empty one is legal: no CPU of the PMU is online.
func ParseCPUs(text string) (CPUs, error) {
	c := CPUs{Text: text}
	if text == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 31)
		if err != nil {
			return CPUs{}, fmt.Errorf("%q is not a list of CPUs", clip(text))
		}
		last, err := strconv.ParseUint(high, 10, 31)
		if err != nil || last < first {
			return CPUs{}, fmt.Errorf("%q is not a list of CPUs", clip(text))
		}
		c.ranges = append(c.ranges, cpuRange{int(first), int(last)})
	}
	return c, nil
}

// Has reports whether a CPU is in the list.
func (c CPUs) Has(cpu int) bool {
	for _, r := range c.ranges {
		if r.first <= cpu && cpu <= r.last {
			return true
		}
	}
	return false
}
