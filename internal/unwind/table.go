package unwind

import "sort"

const (
	// PageBits is the binary logarithm of the size of a page of the index, in bytes of code. A search looks at the rows of
	// one page; the first of them is at its beginning.
	PageBits = 10
	pageMask = 1<<PageBits - 1
	// MaxRules is the maximum number of different rules of a table: a row has 32 - PageBits bits for the index of one.
	MaxRules = 1 << (32 - PageBits)
)

// Table has the rules of one file's code. Code is addressed by its offset in the file, as mappings map it.
type Table struct {
	Rules []Rule
	// First is the number of the first page with code, counted from the beginning of the file.
	First uint32
	// Pages has the index of each page's first row, and the number of rows at its end.
	Pages []uint32
	// Rows hold for the code from their own offset to the next row's. The low PageBits bits are the offset within the page,
	// the others an index of Rules.
	Rows []uint32
}

// RuleWords is the size of a rule in the kernel, in words of 32 bits: struct unwind_rule in bpf/unwindtable.h.
const RuleWords = 4

// Words is the size of a table in the kernel, in words of 32 bits.
func (t *Table) Words() int { return RuleWords*len(t.Rules) + len(t.Pages) + len(t.Rows) }

// Rule returns the rule for the code at an offset in the file.
func (t *Table) Rule(offset uint64) Rule {
	page := offset>>PageBits - uint64(t.First)
	if page+1 >= uint64(len(t.Pages)) {
		return Rule{}
	}
	rows := t.Rows[t.Pages[page]:t.Pages[page+1]]
	at := uint32(offset & pageMask)
	n := sort.Search(len(rows), func(i int) bool { return rows[i]&pageMask > at })
	return t.Rules[rows[n-1]>>PageBits]
}

// tableBuilder takes rows in order of offset.
type tableBuilder struct {
	t       Table
	numbers map[Rule]uint32
	recent  [recentRules]struct { // rules that were numbered last, by their hash
		rule  Rule
		after uint32 // number + 1; 0: none
	}
	last  uint32 // rule of the last row
	begun bool
}

// recentRules saves two in three of the look-ups in a map, which take a quarter of the time for a table.
const recentRules = 256

func (b *tableBuilder) number(r Rule) uint32 {
	recent := &b.recent[uint32(r.Offset/wordSize+int32(r.FPOffset)*5+int32(r.Base)*37+int32(r.Saved)*11+int32(r.BX)*3)%recentRules]
	if recent.after == 0 || recent.rule != r {
		recent.rule, recent.after = r, b.newNumber(r)+1
	}
	return recent.after - 1
}

func (b *tableBuilder) newNumber(r Rule) uint32 {
	if n, known := b.numbers[r]; known {
		return n
	}
	n := uint32(len(b.t.Rules))
	if n == MaxRules {
		return b.newNumber(Rule{})
	}
	b.numbers[r] = n
	b.t.Rules = append(b.t.Rules, r)
	return n
}

// add adds a row, unless its rule holds already. It replaces a row at the same offset.
func (b *tableBuilder) add(offset uint64, r Rule) {
	n := b.number(r)
	if !b.begun {
		b.begun = true
		b.t.First = uint32(offset >> PageBits)
		b.t.Pages = append(b.t.Pages, 0)
		b.last = b.number(Rule{})
		b.t.Rows = append(b.t.Rows, b.last<<PageBits)
	}
	b.openPages(offset)
	if n == b.last {
		return
	}
	b.last = n
	row := n<<PageBits | uint32(offset&pageMask)
	if last := len(b.t.Rows) - 1; b.t.Rows[last]&pageMask == row&pageMask {
		b.t.Rows[last] = row
		return
	}
	b.t.Rows = append(b.t.Rows, row)
}

// openPages begins the pages up to that of an offset, each with a row of the rule that holds at its beginning.
func (b *tableBuilder) openPages(offset uint64) {
	for want := int(offset>>PageBits) - int(b.t.First) + 1; len(b.t.Pages) < want; {
		b.t.Pages = append(b.t.Pages, uint32(len(b.t.Rows)))
		b.t.Rows = append(b.t.Rows, b.last<<PageBits)
	}
}

func (b *tableBuilder) finish() *Table {
	if b.begun {
		b.t.Pages = append(b.t.Pages, uint32(len(b.t.Rows)))
	}
	return &b.t
}
