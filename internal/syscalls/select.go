package syscalls

import (
	"fmt"
	"slices"

	"wprof/internal/glob"
)

// Numbers is the number of calls in a table: CALL_NUMBERS in bpf/syscall.h.
const Numbers = 512

// abis are the tables of a machine: that of 64-bit programs and that of 32-bit ones, enum call_abi in bpf/syscall.h.
const abis = 2

// Selection is which calls are recorded.
type Selection struct {
	Wanted [abis][Numbers / 64]uint64 // a bit for each number
	Others bool                       // numbers that are in no table
}

// Select returns the calls of a machine whose names match any of some globs; all, if there are none.
func Select(machine string, globs []string) (s Selection, err error) {
	matched := make(map[string]bool)
	all := len(globs) == 0
	for abi, names := range [abis][]string{Names(machine), CompatNames(machine)} {
		for number := range Numbers {
			name := ""
			if number < len(names) {
				name = names[number]
			}
			wanted := all
			for _, one := range globs {
				if name != "" && glob.Match(one, []byte(name)) {
					wanted, matched[one] = true, true
				}
			}
			if wanted {
				index, bit := word(number)
				s.Wanted[abi][index] |= bit
			}
		}
	}
	s.Others = all
	for _, one := range globs {
		if !matched[one] {
			return s, &UnknownError{one}
		}
	}
	return s, nil
}

// UnknownError is a name or glob that no call has.
type UnknownError struct{ Glob string }

func (e *UnknownError) Error() string { return fmt.Sprintf("no system call is called %q", e.Glob) }

// word returns the bit of a number in a Selection, and the index of the word that has it.
func word(number int) (index int, bit uint64) { return number / 64, 1 << (number % 64) }

// AllNames returns the names of all calls of a machine, sorted.
func AllNames(machine string) []string {
	all := slices.Concat(Names(machine), CompatNames(machine))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// Has reports whether a name or glob is that of a call.
func Has(machine, word string) bool {
	return slices.ContainsFunc(AllNames(machine), func(name string) bool { return glob.Match(word, []byte(name)) })
}
