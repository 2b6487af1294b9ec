package tracepoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"wprof/format"
)

// Types resolves names of C that a format file does not explain; nil: nothing is known.
type Types interface {
	Enum(name string) []*format.EnumName         // the constants of an enum; nil: not known
	Constant(name string) (value int64, ok bool) // of any enum
}

const (
	commonFields = 8  // bytes of the fields that all records have, over which the kernel writes
	maxFields    = 64 // of an event type
	maxFile      = 1 << 20
	maxNames     = 1024 // of the numbers of a field
	maxNameBytes = 256
)

// field is a line of a format file.
type field struct {
	decl         string // of C, without the name
	name         string
	array        string // between the brackets after the name
	isArray      bool
	offset, size int
	signed       bool
}

// Parse parses a format file. types may be nil.
func Parse(group string, text []byte, types Types) (*Tracepoint, error) {
	if len(text) > maxFile {
		return nil, errors.New("the format is longer than 1 MiB")
	}
	t := &Tracepoint{Group: group}
	var fields []field
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		rest = strings.TrimSpace(rest)
		switch key {
		case "name":
			t.Name = rest
		case "ID":
			id, err := strconv.ParseUint(rest, 10, 31)
			if err != nil {
				return nil, fmt.Errorf("the ID %q is no number", rest)
			}
			t.ID = int(id)
		case "field":
			f, err := parseField(rest)
			if err != nil {
				return nil, err
			}
			if f.offset >= commonFields {
				fields = append(fields, f)
			}
		case "print fmt":
			t.Print = rest
		}
	}
	if t.Name == "" || t.ID == 0 {
		return nil, errors.New("the format has no name or no ID")
	}
	return t, t.lay(fields, types)
}

// parseField parses "char comm[16];	offset:8;	size:16;	signed:0;".
func parseField(text string) (f field, err error) {
	decl, rest, _ := strings.Cut(text, ";")
	for part := range strings.SplitSeq(rest, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return f, fmt.Errorf("field %q: %s is %q, no number", decl, key, value)
		}
		switch key {
		case "offset":
			f.offset = int(n)
		case "size":
			f.size = int(n)
		case "signed":
			f.signed = n != 0
		}
	}
	decl = strings.TrimSpace(decl)
	if open := strings.LastIndexByte(decl, '['); open >= 0 && strings.HasSuffix(decl, "]") {
		if array := decl[open+1 : len(decl)-1]; array != "" || !strings.Contains(decl[open:], " ") {
			f.isArray, f.array, decl = true, array, strings.TrimSpace(decl[:open])
		}
	}
	at := strings.LastIndexFunc(decl, func(r rune) bool { return !isWord(r) })
	f.decl, f.name = strings.TrimSpace(decl[:at+1]), decl[at+1:]
	if f.name == "" || len(f.name) > 64 {
		return f, fmt.Errorf("field %q has no name, or one that is too long", text)
	}
	return f, nil
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// lay makes the event type and the places of its fields.
func (t *Tracepoint) lay(fields []field, types Types) error {
	t.Def, t.Base = newType(t.Group, t.Name), commonFields
	t.From, t.To = commonFields, commonFields
	printed := parsePrint(t.Print, types)
	if t.isSyscall() {
		clear(printed.hex) // all of them are
	}
	names := make(map[string]bool)
	for i := range fields {
		f := &fields[i]
		kind := f.placeKind()
		if t.isSyscall() && kind != Fixed { // what the kernel prints, which is not passed to programs
			continue
		}
		if t.To = max(t.To, f.offset+f.size); t.To > MaxFixed {
			return fmt.Errorf("its fields take %d bytes, more than the %d that are recorded", t.To, MaxFixed)
		}
		if kind != Fixed && f.offset > t.Location {
			t.Location, t.Relative = f.offset, kind == RelLoc
		}
		if len(t.Def.Fields) >= maxFields || names[f.name] {
			continue
		}
		names[f.name] = true
		typed, place := f.typed(t.isSyscall(), types)
		place.Offset, place.Kind = f.offset-commonFields, kind
		printed.apply(typed, &place)
		t.Def.Fields, t.Places = append(t.Def.Fields, typed), append(t.Places, place)
	}
	if problem := t.Def.Problem(); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// isSyscall reports whether it is the entry of a system call: its fields are words of 64 bits whatever their types.
func (t *Tracepoint) isSyscall() bool { return t.Group == "syscalls" }
