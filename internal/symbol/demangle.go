package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Form is how C++ and Rust names are written.
type Form int

const (
	// ShortForm is the name without parameters, return type and clone suffix, but with the arguments of templates:
	// "std::vector<int>::push_back".
	ShortForm Form = iota
	// FullForm is the complete name, as LLVM writes it: "std::vector<int>::push_back(int const&)".
	FullForm
	// RawForm is the name as it is in the file.
	RawForm
)

const (
	// maxMangledBytes is the longest name that is demangled; a longer one stays as it is.
	maxMangledBytes = 16 << 10
	// maxDemangledPower bounds a demangled name to 64 KiB: few mangled bytes can stand for terabytes.
	maxDemangledPower = 16
)

// Demangle returns the name of a C++ or Rust function in a form, and other names unchanged.
func Demangle(name string, form Form) (demangled string) {
	if form == RawForm || !isMangled(name) || len(name) > maxMangledBytes {
		return name
	}
	defer func() {
		if recover() != nil {
			demangled = name
		}
	}()
	options := []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(maxDemangledPower)}
	if form == FullForm {
		options = []demangle.Option{demangle.LLVMStyle, demangle.MaxLength(maxDemangledPower)}
	}
	s, err := demangle.ToString(name, options...)
	if err != nil || s == "" {
		return name
	}
	return s
}

// isMangled reports whether a name may be mangled. Most names of C and Go are not.
func isMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z") ||
		strings.HasPrefix(name, "___Z")
}

// withoutVersion removes "@VERSION" and "@@VERSION", which linkers append to the names of versioned functions.
func withoutVersion(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 {
		return name[:at]
	}
	return name
}
