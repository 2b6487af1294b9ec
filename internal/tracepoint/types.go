package tracepoint

import (
	"strconv"
	"strings"

	"wprof/format"
)

const (
	dataLoc = "__data_loc "
	relLoc  = "__rel_loc "
)

func (f *field) placeKind() PlaceKind {
	switch {
	case strings.HasPrefix(f.decl, dataLoc):
		return DataLoc
	case strings.HasPrefix(f.decl, relLoc):
		return RelLoc
	}
	return Fixed
}

// cType is a type of C of the kernel on 64-bit machines.
type cType struct {
	size   int
	signed bool
}

// cTypes are the types whose size a format file does not give: those of elements of variable length, and of arguments of system calls.
func cTypes() map[string]cType {
	return map[string]cType{
		"char": {1, true}, "signed char": {1, true}, "s8": {1, true}, "__s8": {1, true}, "int8_t": {1, true},
		"unsigned char": {1, false}, "u8": {1, false}, "__u8": {1, false}, "uint8_t": {1, false}, "bool": {1, false},
		"short": {2, true}, "s16": {2, true}, "__s16": {2, true}, "int16_t": {2, true},
		"unsigned short": {2, false}, "u16": {2, false}, "__u16": {2, false}, "uint16_t": {2, false}, "umode_t": {2, false},
		"int": {4, true}, "s32": {4, true}, "__s32": {4, true}, "int32_t": {4, true}, "pid_t": {4, true}, "clockid_t": {4, true},
		"timer_t": {4, true}, "key_t": {4, true}, "mqd_t": {4, true}, "key_serial_t": {4, true}, "rwf_t": {4, true},
		"unsigned int": {4, false}, "unsigned": {4, false}, "u32": {4, false}, "__u32": {4, false}, "uint32_t": {4, false}, "uid_t": {4, false},
		"gid_t": {4, false}, "qid_t": {4, false},
		"long": {8, true}, "long long": {8, true}, "s64": {8, true}, "__s64": {8, true}, "int64_t": {8, true}, "off_t": {8, true},
		"loff_t": {8, true}, "ssize_t": {8, true},
		"unsigned long": {8, false}, "unsigned long long": {8, false}, "u64": {8, false}, "__u64": {8, false}, "uint64_t": {8, false},
		"size_t": {8, false}, "cpumask_t": {8, false},
	}
}

// baseType is the type of a field, or of its elements, without qualifiers.
func (f *field) baseType() string {
	var words []string
	for word := range strings.FieldsSeq(f.decl) {
		word = strings.TrimSuffix(word, "[]")
		switch word {
		case "", "__data_loc", "__rel_loc", "const", "volatile", "__user", "__percpu", "__seg_gs":
			continue
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// typed returns a field of the event type, and the size of its numbers.
func (f *field) typed(inSyscall bool, types Types) (*format.TypeField, Place) {
	base := f.baseType()
	known := cTypes()[base]
	out := &format.TypeField{Name: []byte(f.name)}
	p := Place{Size: f.size, Signed: f.signed}
	switch {
	case strings.Contains(base, "*") && !f.isArray && f.size == 8:
		setType(out, format.ValueType_VALUE_UINT)
		out.Hint = uint32(format.ValueHint_HINT_HEX)
	case f.placeKind() != Fixed || f.isArray:
		f.setArray(out, &p, base, known)
	case base == "bool" && f.size == 1:
		setType(out, format.ValueType_VALUE_BOOL)
	case !isNumberSize(f.size) || strings.HasPrefix(base, "struct ") || strings.HasPrefix(base, "union "):
		setType(out, format.ValueType_VALUE_BYTES)
		out.Hint = uint32(format.ValueHint_HINT_HEX)
	default:
		if inSyscall && known.size > 0 && known.size < f.size {
			p.Size, p.Signed = known.size, known.signed
		}
		setNumber(out, &p)
		if name, ok := strings.CutPrefix(base, "enum "); ok && types != nil {
			setNames(out, &p, types.Enum(name))
		}
	}
	return out, p
}

func setType(f *format.TypeField, t format.ValueType) { f.Type = uint32(t) }

func setNumber(f *format.TypeField, p *Place) {
	if p.Signed {
		setType(f, format.ValueType_VALUE_INT)
	} else {
		setType(f, format.ValueType_VALUE_UINT)
	}
}

func isNumberSize(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// setArray makes a field a string, bytes or a list of numbers.
func (f *field) setArray(out *format.TypeField, p *Place, base string, known cType) {
	size := known.size
	if n, err := strconv.Atoi(f.array); err == nil && n > 0 && f.size%n == 0 {
		size = f.size / n
	}
	switch {
	case base == "char":
		setType(out, format.ValueType_VALUE_STRING)
	case size == 1 && !known.signed, !isNumberSize(size), strings.HasPrefix(base, "struct "), strings.HasPrefix(base, "union "):
		setType(out, format.ValueType_VALUE_BYTES)
		out.Hint = uint32(format.ValueHint_HINT_HEX)
	default:
		p.Size, p.Count, out.List = size, f.size/size, true
		if known.size > 0 {
			p.Signed = known.signed
		}
		setNumber(out, p)
		if base == "cpumask_t" || strings.Contains(base, "*") {
			out.Hint = uint32(format.ValueHint_HINT_HEX)
		}
	}
}

// setNames makes a number one with names.
func setNames(f *format.TypeField, p *Place, names []*format.EnumName) {
	if len(names) == 0 || len(names) > maxNames {
		return
	}
	setType(f, format.ValueType_VALUE_ENUM)
	f.Hint, f.Names = 0, nil
	for _, n := range names {
		name := n.Name
		f.Names = append(f.Names, &format.EnumName{Number: p.extend(uint64(n.Number)), Name: name[:min(len(name), maxNameBytes)]})
	}
}

// extend returns what decoding gives for a number.
func (p *Place) extend(n uint64) int64 {
	unused := 64 - 8*uint(p.Size)
	if p.Signed {
		return int64(n<<unused) >> unused
	}
	return int64(n << unused >> unused)
}
