package probeplan

import (
	"testing"

	"wprof/internal/probe"
)

func TestJoin(t *testing.T) {
	number := func(size int, signed, isBool bool) resolved {
		return resolved{read: probe.Read{Leaf: probe.Leaf{Size: size, Signed: signed, Bool: isBool}}}
	}
	text := resolved{read: probe.Read{Leaf: probe.Leaf{Kind: probe.LeafString}}}
	float := resolved{read: probe.Read{Leaf: probe.Leaf{Size: 8, Float: true}}}
	for _, test := range []struct {
		reads  []resolved
		size   int
		signed bool
		isBool bool
		fails  bool
	}{
		{reads: []resolved{number(4, true, false)}, size: 4, signed: true},
		{reads: []resolved{number(1, false, true), number(1, false, true)}, size: 1, isBool: true},
		{reads: []resolved{number(1, false, true), number(4, true, false)}, size: 8, signed: true},
		{reads: []resolved{number(4, false, false), number(8, false, false)}, size: 8},
		{reads: []resolved{text, number(8, false, false)}, fails: true},
		{reads: []resolved{number(8, false, false), text}, fails: true},
		{reads: []resolved{number(8, false, false), float}, fails: true},
	} {
		f := field{reads: test.reads}
		if got := f.join(); got == test.fails {
			t.Errorf("join(%v) = %v", test.reads, got)
			continue
		}
		if leaf := f.leaf(); !test.fails && (leaf.Size != test.size || leaf.Signed != test.signed || leaf.Bool != test.isBool) {
			t.Errorf("joined(%v) = %+v", test.reads, leaf)
		}
		for i := range f.reads {
			if leaf := &f.reads[i].read.Leaf; !test.fails && leaf.Size != test.size {
				t.Errorf("read %d of %v has %d bytes, want %d", i, test.reads, leaf.Size, test.size)
			}
		}
	}
}
