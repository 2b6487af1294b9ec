package probeplan

import (
	"errors"
	"testing"

	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// An argument with the name of what the thread has is the argument, also where it cannot be read.
func TestThreadWordsComeAfterArguments(t *testing.T) {
	broken := errors.New("it is in no register")
	v := variant{resolve: func(a *probe.Arg) (resolved, error) {
		switch a.Name {
		case "pid":
			return resolved{read: probe.Read{From: probe.From{Kind: probe.FromRegister, Size: 2}}}, nil
		case "tid":
			return resolved{}, broken
		case "cpu":
			return resolved{}, errNoNames
		}
		return resolved{}, &usercode.NotFound{What: "argument", Name: a.Name}
	}}
	for name, want := range map[string]probe.FromKind{"pid": probe.FromRegister, "cpu": probe.FromCPU, "comm": probe.FromComm} {
		if r, err := v.read(&probe.Arg{Base: probe.BaseName, Name: name}); err != nil || r.read.From.Kind != want {
			t.Errorf("%s is read as %+v, %v; want a read that begins with %v", name, r.read, err, want)
		}
	}
	if _, err := v.read(&probe.Arg{Base: probe.BaseName, Name: "tid"}); !errors.Is(err, broken) {
		t.Errorf("an argument that cannot be read: %v", err)
	}
	for _, a := range []probe.Arg{
		{Base: probe.BaseName, Name: "other"},
		{Base: probe.BaseName, Name: "comm", Access: []probe.Access{{Kind: probe.Field, Field: "x"}}},
		{Base: probe.BaseName, Name: "comm", Type: probe.TypeU32},
	} {
		if r, err := v.read(&a); err == nil {
			t.Errorf("%s is read as %+v", &a, r.read)
		}
	}
	if r, err := v.read(&probe.Arg{Base: probe.BaseName, Name: "cpu", Type: probe.TypeU8}); err != nil || r.read.Leaf.Size != 1 {
		t.Errorf("cpu:u8 is read as %+v, %v", r.read, err)
	}
}

func TestEveryThreadWordIsKnown(t *testing.T) {
	kinds := make(map[probe.FromKind]bool)
	for _, row := range probe.ThreadWords() {
		read, ok := threadRead(&probe.Arg{Base: probe.BaseName, Name: row.Word})
		if !ok || kinds[read.From.Kind] {
			t.Errorf("%s is read as %+v, %v", row.Word, read, ok)
		}
		kinds[read.From.Kind] = true
	}
}
