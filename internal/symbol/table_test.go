package symbol

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// madeSymbol is a function as a symbol table has it: rank, start and size.
type madeSymbol struct {
	name  string
	rank  uint32
	start uint64
	size  uint64
}

func tableOf(end uint64, symbols ...madeSymbol) *Table {
	l := &functions{code: []codeSection{{0, end}}}
	var text []byte
	for i, s := range symbols {
		l.list = append(l.list, span{start: s.start, end: s.start + s.size, rank: s.rank | uint32(i), name: uint32(len(text))})
		text = append(append(text, s.name...), 0)
	}
	l.names.addBytes(text)
	return l.table()
}

func checkNames(t *testing.T, table *Table, want map[uint64]string) {
	t.Helper()
	for address, name := range want {
		got, ok := table.Lookup(address)
		if got.Name != name || ok != (name != "") {
			t.Errorf("%#x: got %q, want %q", address, got.Name, name)
		}
	}
}

func TestAddressBelongsToASymbolOnlyInItsRange(t *testing.T) {
	table := tableOf(0x1000, madeSymbol{"a", 0, 0x100, 0x10}, madeSymbol{"b", 0, 0x120, 0x10})
	checkNames(t, table, map[uint64]string{0: "", 0xff: "", 0x100: "a", 0x10f: "a", 0x110: "", 0x11f: "", 0x120: "b", 0x130: "", ^uint64(0): ""})
}

func TestSizelessSymbolEndsAtTheNextOrWithItsSection(t *testing.T) {
	table := tableOf(0x200, madeSymbol{"_start", 0, 0x100, 0}, madeSymbol{"f", 0, 0x120, 0x10}, madeSymbol{"last", 0, 0x180, 0})
	checkNames(t, table, map[uint64]string{0x11f: "_start", 0x120: "f", 0x130: "", 0x180: "last", 0x1ff: "last", 0x200: ""})
	if s, _ := table.Lookup(0x101); s.Start != 0x100 || s.Size != 0x20 {
		t.Errorf("got %+v", s)
	}
}

func TestLabelInAFunctionEndsWithIt(t *testing.T) {
	table := tableOf(0x200, madeSymbol{"f", 0, 0x100, 0x40}, madeSymbol{"label", 0, 0x120, 0})
	checkNames(t, table, map[uint64]string{0x11f: "f", 0x120: "label", 0x13f: "label", 0x140: ""})
}

func TestNestedFunctionHidesTheOneAroundIt(t *testing.T) {
	table := tableOf(0x200, madeSymbol{"outer", 0, 0x100, 0x80}, madeSymbol{"inner", 0, 0x120, 0x10})
	checkNames(t, table, map[uint64]string{0x11f: "outer", 0x120: "inner", 0x12f: "inner", 0x130: "outer", 0x17f: "outer", 0x180: ""})
	if s, _ := table.Lookup(0x150); s.Start != 0x100 || s.Size != 0x80 {
		t.Errorf("got %+v, want the whole of outer", s)
	}
}

func TestLargestAliasWinsThenTheLast(t *testing.T) {
	table := tableOf(0x200, madeSymbol{"large", hasSize, 0x100, 0x20}, madeSymbol{"one", hasSize, 0x140, 0x10}, madeSymbol{"small", hasSize, 0x100, 0x10},
		madeSymbol{"two", hasSize, 0x140, 0x10})
	checkNames(t, table, map[uint64]string{0x100: "large", 0x140: "two"})
}

func TestAliasWithASizeWins(t *testing.T) {
	table := tableOf(0x200, madeSymbol{"sized", hasSize, 0x100, 0x20}, madeSymbol{"unsized", 0, 0x100, 0})
	checkNames(t, table, map[uint64]string{0x100: "sized", 0x11f: "sized", 0x120: ""})
}

// TestTableEqualsSearchingAllSymbols holds the table against the rule itself on random symbols that nest, cross and share
// addresses.
func TestTableEqualsSearchingAllSymbols(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 300 {
		var symbols []madeSymbol
		for i := range 1 + random.IntN(40) {
			symbols = append(symbols, madeSymbol{fmt.Sprint("s", i), uint32(random.IntN(2)) << 31, random.Uint64N(200), 1 + random.Uint64N(60)})
		}
		table := tableOf(1000, symbols...)
		for address := range uint64(300) {
			want := ""
			var best *span
			for i, s := range symbols {
				c := &span{start: s.start, end: s.start + s.size, rank: s.rank | uint32(i)}
				if address >= c.start && address < c.end && (best == nil || innermost(c, best)) {
					best, want = c, s.name
				}
			}
			got, _ := table.Lookup(address)
			if got.Name != want || best != nil && (got.Start != best.start || got.Size != best.end-best.start) {
				t.Fatalf("round %d, address %d: got %+v, want %s", round, address, got, want)
			}
		}
	}
}
