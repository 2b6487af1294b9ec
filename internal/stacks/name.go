package stacks

import (
	"bytes"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/printable"
	"wprof/internal/symbol"
)

// Bounds of a shown stack; a recorder takes at most 511 user frames, 2016 of Python and 127 kernel frames.
const (
	MaxFrames  = 2688                // of a stack; outer ones are cut
	MaxInlined = 64                  // functions at one place, from the innermost one out
	maxText    = format.MaxValueText // bytes of a name
)

// Names of frames that are no functions, in brackets as perf writes them.
const (
	CutFrame  = "[cut]"  // the stack lacks its outer functions
	LostFrame = "[lost]" // the definition is missing: the stream is damaged
)

// Unnamed stands for a name that is empty.
const Unnamed = "(unknown)"

// FunctionName returns the name of a function, or, if it has none, the placeholder for all such functions of its module.
func FunctionName(function []byte, module *format.Module) string {
	if len(function) == 0 {
		return string(Printable([]byte(ModuleName(module)), Unnamed))
	}
	return string(Clipped(Printable([]byte(symbol.Demangle(string(function), symbol.DefaultForm)), Unnamed)))
}

// ModuleName returns the placeholder for functions without names, so that a flame graph shows all of a module's as one. It is the
// last part of the path, in brackets.
func ModuleName(m *format.Module) string {
	if m == nil || len(m.Path) == 0 {
		return "[unknown]"
	}
	path := bytes.TrimRight(m.Path, "/")
	base := path[bytes.LastIndexByte(path, '/')+1:]
	if len(base) > 1 && base[0] == '[' {
		return string(base) // of the kernel
	}
	return "[" + string(base) + "]"
}

// Printable returns a name that viewers and a terminal can show: bytes that are not UTF-8 or not printable become U+FFFD.
// A thread's name may have any bytes. none is returned for an empty one.
func Printable(name []byte, none string) []byte {
	if len(name) == 0 {
		return []byte(none)
	}
	clean := make([]byte, 0, len(name))
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		if !printable.Rune(r) {
			r = utf8.RuneError
		}
		clean = utf8.AppendRune(clean, r)
		name = name[size:]
	}
	return clean
}

// Clipped bounds a name.
func Clipped(name []byte) []byte {
	if len(name) <= maxText {
		return name
	}
	return append(bytes.ToValidUTF8(name[:maxText:maxText], nil), "…"...)
}
