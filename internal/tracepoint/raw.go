package tracepoint

import (
	"errors"
	"fmt"

	"wprof/format"
)

// Argument is an argument of a raw tracepoint: a number, an address, the address of a string, or a struct.
type Argument struct {
	Name    string
	Size    int // bytes of a number
	Signed  bool
	Bool    bool
	Names   []*format.EnumName // of an enum
	Pointer bool
	String  bool // the pointer is one to a string
	Bytes   int  // of a struct
}

const (
	wordBytes    = 8
	maxArguments = 12 // of any tracepoint: CAST_TO_U64 in include/linux/args.h
)

// Raw describes a raw tracepoint. Its copy has a word for each argument, and then its strings.
func Raw(group, name string, arguments []Argument) (*Tracepoint, error) {
	if len(arguments) > maxArguments {
		return nil, fmt.Errorf("it has %d arguments, more than %d", len(arguments), maxArguments)
	}
	t := &Tracepoint{Group: group, Name: name}
	t.Def, t.To = newType(group, name), wordBytes*len(arguments)
	names := make(map[string]bool)
	for i, a := range arguments {
		if a.Name == "" || names[a.Name] {
			a.Name = fmt.Sprintf("arg%d", i+1)
		}
		names[a.Name] = true
		f, p := a.typed()
		f.Name = []byte(a.Name)
		p.Offset = wordBytes * i
		if a.String && len(t.Strings) < MaxStrings {
			setType(f, format.ValueType_VALUE_STRING)
			f.Hint = 0
			p.Offset, p.Size = t.To+MaxRawString*len(t.Strings), MaxRawString
			t.Strings = append(t.Strings, i)
		}
		t.Def.Fields, t.Places = append(t.Def.Fields, f), append(t.Places, p)
	}
	if problem := t.Def.Problem(); problem != "" {
		return nil, errors.New(problem)
	}
	return t, nil
}

func (a *Argument) typed() (*format.TypeField, Place) {
	f := new(format.TypeField)
	p := Place{Size: a.Size, Signed: a.Signed}
	switch {
	case a.Pointer, a.Bytes == 0 && !isNumberSize(a.Size):
		p.Size, p.Signed = wordBytes, false
		setType(f, format.ValueType_VALUE_UINT)
		f.Hint = uint32(format.ValueHint_HINT_HEX)
	case a.Bool:
		setType(f, format.ValueType_VALUE_BOOL)
	case a.Bytes > 0:
		p.Size = min(a.Bytes, wordBytes)
		setType(f, format.ValueType_VALUE_BYTES)
		f.Hint = uint32(format.ValueHint_HINT_HEX)
	default:
		setNumber(f, &p)
		setNames(f, &p, a.Names)
	}
	return f, p
}
