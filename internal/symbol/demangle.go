package symbol

import (
	"bytes"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"wprof/internal/demangle/dlang"
	"wprof/internal/demangle/swift"
)

// Form is how the names of languages that mangle them are written.
type Form int

const (
	// DefaultForm is the name without parameters, return type and clone suffix, but with the arguments of templates:
	// "std::vector<int>::push_back".
	DefaultForm Form = iota
	// ShortForm is the default form without the arguments of templates: "std::vector::push_back".
	ShortForm
	// FullForm is the complete name, as LLVM, swift-demangle and GNU c++filt write it: "std::vector<int>::push_back(int const&)".
	FullForm
	// RawForm is the name as it is in the file.
	RawForm
)

// FormsHelp explains [Forms].
const FormsHelp = "How names of C++, Rust, Swift and D are written. full: with parameters; short: without parameters and template arguments; " +
	"none: as in the symbol table. By default without parameters, but with template arguments."

// Forms are the words for forms that [ParseForm] knows.
func Forms() []string { return []string{"full", "short", "none"} }

// ParseForm returns the form that a word stands for; the default one for "".
func ParseForm(word string) Form {
	switch word {
	case "full":
		return FullForm
	case "short":
		return ShortForm
	case "none":
		return RawForm
	}
	return DefaultForm
}

const (
	// maxMangledBytes is the longest name that is demangled; a longer one stays as it is.
	maxMangledBytes = 16 << 10
	// maxDemangledPower bounds a demangled name to 64 KiB: few mangled bytes can stand for terabytes.
	maxDemangledPower = 16
)

// Demangle returns the name of a C++, Rust, Swift or D function in a form, and other names unchanged. The names of Swift before
// version 4 are among these.
func Demangle(name string, form Form) (demangled string) {
	if form == RawForm || len(name) > maxMangledBytes {
		return name
	}
	if called, isStub := strings.CutSuffix(name, stubSuffix); isStub {
		return Demangle(called, form) + stubSuffix
	}
	defer func() {
		if recover() != nil {
			demangled = name
		}
	}()
	ok := false
	switch {
	case isItanium(name):
		demangled, ok = demangleItanium(name, form)
	case strings.HasPrefix(name, "_D"):
		demangled, ok = dlang.Demangle(name, dlang.Options{Parameters: form == FullForm, Arguments: form != ShortForm})
	case isSwift(name):
		demangled, ok = swift.Demangle(name, swift.Options{Types: form == FullForm, Arguments: form != ShortForm})
	}
	if !ok {
		return name
	}
	return demangled
}

// demangleItanium demangles names of C++, and those of Rust, whose older scheme is C++'s.
func demangleItanium(name string, form Form) (demangled string, ok bool) {
	options := []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(maxDemangledPower)}
	switch {
	case form == FullForm:
		options = []demangle.Option{demangle.LLVMStyle, demangle.MaxLength(maxDemangledPower)}
	case form == ShortForm && !isRust(name):
		options = append(options, demangle.NoTemplateParams)
	}
	s, err := demangle.ToString(name, options...)
	if err != nil || s == "" {
		return "", false
	}
	if form == ShortForm && isRust(name) {
		return withoutGenerics(s), true
	}
	return s, true
}

// isRust reports whether a mangled name is one of Rust's: of the v0 scheme, or of the older one, which ends with a hash.
func isRust(name string) bool {
	if strings.HasPrefix(name, "_R") {
		return true
	}
	const hash = len("17h0123456789abcdefE")
	name, _, _ = strings.Cut(name, ".llvm.")
	at := len(name) - hash
	return at > 0 && strings.HasPrefix(name[at:], "17h") && name[len(name)-1] == 'E'
}

// withoutGenerics removes the arguments of generics from a name of Rust, for which the demangler has no option. The brackets of a
// qualified path stay: "<a::Vec<u8> as a::Trait>::get::<u8>" becomes "<a::Vec as a::Trait>::get".
func withoutGenerics(name string) string {
	out := make([]byte, 0, len(name))
	kept, removed := 0, 0 // open brackets; removed is 0 outside of arguments
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '>' && i > 0 && name[i-1] == '-': // an arrow
		case c == '<' && removed > 0:
			removed++
		case c == '>' && removed > 0:
			removed--
			continue
		case c == '<' && len(out) > 0 && isPathEnd(out[len(out)-1]):
			removed++
			out = bytes.TrimSuffix(out, []byte("::"))
		case c == '<':
			kept++
		case c == '>':
			kept--
		}
		if removed == 0 {
			out = append(out, c)
		}
	}
	if removed != 0 || kept != 0 || len(out) == 0 {
		return name
	}
	return string(out)
}

// isPathEnd reports whether a bracket after a byte opens arguments.
func isPathEnd(c byte) bool {
	return c == ':' || c == '_' || c == '}' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isItanium reports whether a name may be one of C++ or Rust. Most names of C and Go are of no scheme.
func isItanium(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z") ||
		strings.HasPrefix(name, "___Z")
}

// isSwift reports whether a name may be one of Swift.
func isSwift(name string) bool {
	return strings.HasPrefix(name, "$") || strings.HasPrefix(name, "_$") || strings.HasPrefix(name, "_T0")
}

// withoutVersion removes "@VERSION" and "@@VERSION", which linkers append to the names of versioned functions.
func withoutVersion(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 {
		return name[:at]
	}
	return name
}
