package unwind

import (
	"slices"
	"testing"
)

// Rules hold from their place to the next one's, over pages without rows too, and before the first and behind the last code
// there is none.
func TestRulesHoldUntilTheNext(t *testing.T) {
	a, c := Rule{Base: SP, Offset: 8}, Rule{Base: FP, Offset: 16, Saved: AtCFA, FPOffset: -16}
	b := tableBuilder{numbers: map[Rule]uint32{}}
	for _, row := range []struct {
		offset uint64
		rule   Rule
	}{{5000, a}, {5001, c}, {5001, a}, {9000, c}, {9216, a}, {9300, Rule{}}} {
		b.add(row.offset, row.rule)
	}
	table := b.finish()
	for offset, want := range map[uint64]Rule{
		0: {}, 4999: {}, 5000: a, 5001: a, 6200: a, 8999: a, 9000: c, 9215: c, 9216: a, 9299: a, 9300: {}, 10239: {}, 10240: {}, 1 << 40: {},
	} {
		if got := table.Rule(offset); got != want {
			t.Errorf("at %d: got %+v, want %+v", offset, got, want)
		}
	}
}

// A thread that returns from a signal handler is behind the last instruction of the code that says so, unless other code begins there.
func TestSigreturnHasRule(t *testing.T) {
	cie := []byte{0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0, 12, 7, 8, 0, 0, 0}
	plain := []byte{0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 12, 7, 8, 0x90, 1, 0, 0}
	fde := func(toCIE, begin byte, instructions ...byte) []byte {
		head := []byte{0x1c, 0, 0, 0, toCIE, 0, 0, 0, begin, 0x10, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0}
		return slices.Concat(head, instructions, make([]byte, 7-len(instructions)))
	}
	alone := slices.Concat(cie, fde(0x1c, 0x10, cfaDefExpr, 2, opBreg+regSP, 32))
	followed := slices.Concat(alone, plain, fde(0x1c, 0x19))
	other := slices.Concat(cie, fde(0x1c, 0x10, cfaDefOffset, 16)) // without the kernel's frame
	for i, c := range []struct {
		data []byte
		want [3]Rule // of the last place, of the one behind it, of the next one
	}{
		{alone, [3]Rule{{Base: Signal}, {Base: Signal}, {}}},
		{followed, [3]Rule{{Base: Signal}, {Base: SP, Offset: 8}, {Base: SP, Offset: 8}}},
		{other, [3]Rule{{Base: SP, Offset: 16}, {Base: SP, Offset: 16}, {}}},
	} {
		in := input{frames: &section{data: c.data}, code: []segment{{0, 0, 1 << 20}}}
		table := in.table()
		for j, want := range c.want {
			if got := table.Rule(uint64(0x1018 + j)); got != want {
				t.Errorf("%d, at +%d: got %+v, want %+v", i, 8+j, got, want)
			}
		}
	}
}

// soundProblem returns what is wrong with a table; "": nothing.
func soundProblem(t *Table) string {
	if len(t.Pages) == 0 {
		return ""
	}
	if !slices.IsSorted(t.Pages) || t.Pages[0] != 0 || int(t.Pages[len(t.Pages)-1]) != len(t.Rows) {
		return "its pages do not divide its rows"
	}
	for i, from := range t.Pages[:len(t.Pages)-1] {
		rows := t.Rows[from:t.Pages[i+1]]
		if len(rows) == 0 || rows[0]&pageMask != 0 {
			return "a page has no row at its beginning"
		}
		if !slices.IsSortedFunc(rows, func(a, b uint32) int { return int(a&pageMask) - int(b&pageMask) }) {
			return "the rows of a page are not in order"
		}
	}
	for _, row := range t.Rows {
		if int(row>>PageBits) >= len(t.Rules) {
			return "a row has no rule"
		}
	}
	return ""
}

// Any bytes as call frame information make a sound table, in time and memory in proportion to their number.
func FuzzTable(f *testing.F) {
	cie := []byte{0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 12, 7, 8, 0x90, 1, 0, 0}
	fde := []byte{0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x44, 14, 16, 0x86, 2, 0, 0}
	f.Add(slices.Concat(cie, fde), false)
	f.Add(slices.Concat(cie, fde, cie), true)
	f.Fuzz(func(t *testing.T, data []byte, debug bool) {
		in := input{frames: &section{data: data, address: 0x2000, debug: debug}, code: []segment{{0x1000, 0, 1 << 20}, {0, 1 << 30, 0x1000}}}
		table := in.table()
		if problem := soundProblem(table); problem != "" {
			t.Error(problem)
		}
		if len(table.Rows) > 2*len(data)+2*(1<<20>>PageBits)+16 {
			t.Errorf("%d rows of %d bytes", len(table.Rows), len(data))
		}
	})
}
