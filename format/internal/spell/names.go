package spell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names are the names of a small set of numbers.
type Names map[uint64]string

// Text is the name of a number, or the number.
func (n Names) Text(v uint64) string {
	if name, ok := n[v]; ok {
		return name
	}
	return strconv.FormatUint(v, 10)
}

// Parse reads what Text writes; what names the set in errors.
func (n Names) Parse(what, text string, bits int) (uint64, error) {
	for v, name := range n {
		if name == text {
			return v, nil
		}
	}
	if v, err := strconv.ParseUint(text, 0, bits); err == nil {
		return v, nil
	}
	return 0, Unknown(what, text, n.sorted())
}

// Bits writes a set of flags: kthread,self; what has no name is a number.
func (n Names) Bits(v uint64) string {
	var parts []string
	for _, name := range n.sorted() {
		if bit, _ := n.Parse("", name, 64); v&bit != 0 {
			parts, v = append(parts, name), v&^bit
		}
	}
	if v != 0 {
		parts = append(parts, fmt.Sprintf("%#x", v))
	}
	return strings.Join(parts, ",")
}

// ParseBits reads what Bits writes.
func (n Names) ParseBits(what, text string, bits int) (uint64, error) {
	var v uint64
	for part := range strings.SplitSeq(text, ",") {
		bit, err := n.Parse(what, part, bits)
		if err != nil {
			return 0, err
		}
		v |= bit
	}
	return v, nil
}

// sorted are the names in the order of their numbers.
func (n Names) sorted() []string {
	var numbers []uint64
	for v := range n {
		numbers = append(numbers, v)
	}
	slices.Sort(numbers)
	var names []string
	for _, v := range numbers {
		names = append(names, n[v])
	}
	return names
}
