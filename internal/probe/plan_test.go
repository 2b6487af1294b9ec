package probe

import (
	"reflect"
	"testing"
)

// What a definition's type makes of a value, as of arguments without DWARF.
func TestTypesOfDefinitionsReplaceThoseOfValues(t *testing.T) {
	word, text := Leaf{Size: 8}, Leaf{Kind: LeafArray, Size: 16}
	for _, c := range []struct {
		leaf, want Leaf
		as         Type
		user       bool
	}{
		{word, word, TypeAuto, true},
		{word, Leaf{Size: 4, Signed: true}, TypeS32, true},
		{word, Leaf{Size: 8, Hex: true}, TypePtr, false},
		{word, Leaf{Size: 8, Float: true}, TypeF64, true},
		{word, Leaf{Kind: LeafString, Size: MaxString, User: true}, TypeStr, true},
		{word, Leaf{Kind: LeafString, Size: MaxString}, TypeStr, false},
		{text, text, TypeStr, false},
		{Leaf{Size: 4, Shift: 3, Bits: 5, Bool: true}, Leaf{Size: 1, Shift: 3, Bits: 5}, TypeU8, true},
	} {
		if got, err := c.leaf.WithType(c.as, c.user); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v as %v: got %+v, %v, want %+v", c.leaf, c.as, got, err, c.want)
		}
	}
	for _, c := range []struct {
		leaf Leaf
		as   Type
		user bool
	}{
		{Leaf{Size: 4}, TypeStr, true}, {Leaf{Size: 8, Bits: 40}, TypeStr, true}, {Leaf{Size: 4}, TypeF64, true}, {word, TypeF64, false}, {text, TypeU32, true},
	} {
		if got, err := c.leaf.WithType(c.as, c.user); err == nil {
			t.Errorf("%+v as %v: got %+v", c.leaf, c.as, got)
		}
	}
}
