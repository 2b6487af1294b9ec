package syscalls

import (
	"slices"
	"strings"
)

// Kind is what an argument or a result is.
type Kind string

// The kinds; all others are names of sets of constants.
const (
	KindFD      Kind = "fd"
	KindDirFD   Kind = "dirfd" // a descriptor of a folder, or AT_FDCWD
	KindPath    Kind = "path"  // the address of a text that ends with a 0
	KindPointer Kind = "ptr"
	KindHex     Kind = "hex"
	KindSize    Kind = "size" // bytes
	KindInt     Kind = "int"  // signed, 32 bits
	KindLong    Kind = "long" // signed
	KindMode    Kind = "mode" // of a file
	KindSignal  Kind = "signal"
)

// CurrentFolder is AT_FDCWD.
const CurrentFolder = -100

// Arg is an argument of a system call.
type Arg struct {
	Name string
	Kind Kind
}

// Call is a system call.
type Call struct {
	Name   string
	Args   []Arg
	Result Kind // KindInt: a number, which may be a descriptor
}

const maxArgs = 6

// Calls are the system calls whose arguments are known, by name.
type Calls map[string]*Call

// ReadCalls returns the table.
func ReadCalls() Calls {
	all := make(Calls)
	for line := range strings.Lines(signatures) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c := &Call{Name: words[0], Result: KindInt}
		if n := slices.Index(words, "=>"); n > 0 {
			c.Result = Kind(words[n+1])
			words = words[:n]
		}
		for _, word := range words[1:] {
			name, kind, given := strings.Cut(word, ":")
			if !given {
				kind = string(KindSize)
			}
			c.Args = append(c.Args, Arg{name, Kind(kind)})
		}
		all[c.Name] = c
	}
	return all
}

// unknown is a call of which only the registers are known.
func unknown(name string) *Call {
	c := &Call{Name: name, Result: KindInt}
	for _, arg := range [maxArgs]string{"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"} {
		c.Args = append(c.Args, Arg{arg, KindHex})
	}
	return c
}

// Of returns a call by its name. compat is whether it is one of 32-bit code, of which some take other arguments under the same name.
func (all Calls) Of(name string, compat bool) *Call {
	if compat && slices.Contains(differing(), name) {
		return unknown(name)
	}
	if c := all[name]; c != nil {
		return c
	}
	return unknown(name)
}

// differing are the calls of 32-bit code whose arguments are others than those of 64-bit code: addresses of structures, other orders, and
// numbers of 64 bits in two registers.
func differing() []string {
	return []string{
		"mmap", "select", "clone", "pread64", "pwrite64", "readahead", "fadvise64", "fallocate", "sync_file_range", "truncate64", "ftruncate64",
		"preadv", "pwritev", "preadv2", "pwritev2", "stat", "lstat", "fstat",
	}
}

// numbers returns the numbers of the arguments of some kinds, two at most.
func (c *Call) numbers(of ...Kind) (numbers []int) {
	for i, a := range c.Args {
		if slices.Contains(of, a.Kind) && len(numbers) < 2 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// FDs returns the numbers of the arguments that are descriptors, two at most.
func (c *Call) FDs() []int { return c.numbers(KindFD, KindDirFD) }

// Paths returns the numbers of the arguments that are texts, two at most.
func (c *Call) Paths() []int { return c.numbers(KindPath) }
