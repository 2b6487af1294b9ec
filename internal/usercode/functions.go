package usercode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/symbol"
)

// Function is a function of a file.
type Function struct {
	Name    string // without parameters and, of C++, Rust, Swift and D, demangled
	Raw     string // as it is in the symbol table
	Offset  uint64 // in the file
	Address uint64
	Size    uint64 // bytes; 0: not known
}

// Functions returns the functions whose names a pattern matches, by address. It may be the name in the symbol table, the demangled name
// with or without its parameters, or a glob of one of these. A function with several names is there once. max is how many there may be.
// Functions that a program chooses when it starts (IFUNC) are left out of what a glob matches; where there are no others, and if the pattern is
// the name of one, the error is IndirectError.
func (f *File) Functions(pattern string, max int) ([]Function, error) {
	found := map[uint64]Function{}
	indirect := map[string]bool{}
	m := newMatcher(pattern)
	err := f.symbols.EveryName(f.debugFile(), func(n symbol.Named) {
		if f.isPart(n.Name) {
			return
		}
		if _, known := found[n.Address]; known || !m.matches(n.Name) {
			return
		}
		if n.Indirect {
			indirect[n.Name] = true
			return
		}
		if offset, ok := f.offset(n.Address); ok {
			found[n.Address] = Function{Raw: n.Name, Offset: offset, Address: n.Address, Size: n.Size}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("find functions of %s: %w", f.path, err)
	}
	switch {
	case len(found) > max:
		return nil, &TooMany{What: "functions", Name: pattern, Count: len(found), Limit: max}
	case len(indirect) > 0 && (len(found) == 0 || !m.isGlob): // others of the name are older versions, which few programs call
		return nil, f.indirectError(indirect)
	case len(found) == 0:
		return nil, &NotFound{What: "function", Name: pattern, Near: f.NearFunctions(pattern)}
	}
	list := make([]Function, 0, len(found))
	for _, fn := range found {
		fn.Name = symbol.Demangle(fn.Raw, symbol.DefaultForm)
		list = append(list, fn)
	}
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Address, b.Address) })
	return list, nil
}

// isPart reports whether a name is that of a part of a function, at which no call begins.
func (f *File) isPart(name string) bool {
	return strings.Contains(name, ".cold") && !f.IsGo() && (strings.HasSuffix(name, ".cold") || strings.Contains(name, ".cold."))
}

// matcher compares names of functions with a pattern.
type matcher struct {
	pattern string
	isGlob  bool
	word    string // see wordOf
}

func newMatcher(pattern string) *matcher {
	return &matcher{pattern: pattern, isGlob: isGlob(pattern), word: wordOf(pattern)}
}

// shortened are words of demangled names that mangled ones may have in a short form.
const shortened = "std allocator basic_string string basic_istream basic_ostream basic_iostream char_traits anonymous namespace " +
	"lambda unnamed enum type virtual thunk guard variable typeinfo vtable clone"

// wordOf returns the longest word of a pattern that is in the mangled form of each name of C++ and Rust that the pattern can match, so that
// others need not be demangled, which takes up to 0.3 ms; "": there is none.
func wordOf(pattern string) (longest string) {
	if strings.ContainsAny(pattern, " ~") || strings.Contains(pattern, "operator") {
		return ""
	}
	if at := strings.IndexAny(pattern, "(<"); at >= 0 {
		pattern = pattern[:at]
	}
	for _, word := range strings.FieldsFunc(pattern, isNoLetter) {
		if len(word) > len(longest) && !strings.Contains(shortened, word) {
			longest = word
		}
	}
	return longest
}

func isNoLetter(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

func (m *matcher) matches(raw string) bool {
	if m.isName(raw) {
		return true
	}
	if m.word != "" && !strings.Contains(raw, m.word) && (strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R")) {
		return false
	}
	short := symbol.Demangle(raw, symbol.DefaultForm)
	return short != raw && (m.isName(short) || m.isName(symbol.Demangle(raw, symbol.FullForm)))
}

func (m *matcher) isName(name string) bool {
	if m.isGlob && glob.Match(m.pattern, []byte(name)) {
		return true
	}
	return m.pattern == name // operator* is a name too
}

// IndirectError is the error for functions of which a program chooses an implementation when it starts: calls do not come to the symbol
// of that name.
type IndirectError struct {
	Names           []string
	Implementations []string // names of what may be chosen, as far as the file has them
}

func (e *IndirectError) Error() string {
	s := strings.Join(e.Names, ", ") + ": the program chooses the code when it starts (IFUNC)"
	if len(e.Implementations) == 0 {
		return s + ", and the file does not name what can be chosen"
	}
	return s + ", from " + strings.Join(e.Implementations, ", ")
}

// maxListed bounds the names in an error.
const maxListed = 12

func (f *File) indirectError(names map[string]bool) error {
	e := &IndirectError{}
	for name := range names {
		e.Names = append(e.Names, name)
	}
	slices.Sort(e.Names)
	e.Names = e.Names[:min(len(e.Names), maxListed)]
	e.Implementations = f.implementations(e.Names)
	return e
}

// Indirect returns the names that match a pattern and that [File.Functions] leaves out because of what they are (IFUNC).
func (f *File) Indirect(pattern string) []string {
	names := map[string]bool{}
	m := newMatcher(pattern)
	_ = f.symbols.EveryName(f.debugFile(), func(n symbol.Named) { // Functions has reported it
		if n.Indirect && m.matches(n.Name) {
			names[n.Name] = true
		}
	})
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// implementations returns the functions that are named as the GNU C library names what an IFUNC chooses from: __memcpy_avx_unaligned.
func (f *File) implementations(names []string) []string {
	seen := map[string]bool{}
	_ = f.symbols.EveryName(f.debugFile(), func(n symbol.Named) {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(n.Name, "__"+name+"_"); ok && !n.Indirect && rest != "chk" && !strings.HasPrefix(rest, "chk_") {
				seen[n.Name] = true
			}
		}
	})
	list := make([]string, 0, len(seen))
	for name := range seen {
		list = append(list, name)
	}
	slices.Sort(list)
	return list[:min(len(list), maxListed)]
}

// maxNear bounds the names that are compared with one that does not exist.
const maxNear = 200_000

// NearFunctions returns names of functions that a wrong name may have meant, best first.
func (f *File) NearFunctions(name string) []string {
	word := strings.Trim(name, "*?")
	seen := map[string]bool{}
	var inside, all []string
	_ = f.symbols.EveryName(f.debugFile(), func(n symbol.Named) {
		if n.Indirect || f.isPart(n.Name) || len(all) >= maxNear {
			return
		}
		short := symbol.Demangle(n.Name, symbol.DefaultForm)
		if seen[short] {
			return
		}
		seen[short] = true
		if strings.HasSuffix(short, "::"+word) || strings.HasSuffix(short, "."+word) {
			inside = append(inside, short)
		}
		if d := len(short) - len(word); d < 16 && d > -16 {
			all = append(all, short)
		}
	})
	slices.Sort(all)
	slices.Sort(inside)
	near := append(inside[:min(len(inside), 3)], cli.Nearest(word, all)...)
	return near[:min(len(near), 3)]
}
