package columns

import (
	"bytes"

	"github.com/parquet-go/parquet-go"
)

// column is a column of the open row group: the values of its open page, and the pages before that as they are stored.
//
// Pages are made here instead of by the library, which takes every value as a struct with its levels and looks up every text in a
// map: that took twice the time of all the rest. Schema and encodings are the library's.
type column struct {
	leaf      parquet.LeafColumn
	kind      parquet.Kind
	isDelta   bool // of 64 bits: differences are stored
	isLeveled bool // it may be null, or a list
	isList    bool
	words     []string // the only values of a column of words; nil: any

	// Values of the open page.
	levels  []byte  // definition levels: 0 null or an empty list, 1 a value
	repeats []byte  // repetition levels: 0 the first of a row
	longs   []int64 // of 64 bits; doubles as their bits
	shorts  []int32 // of 32 bits, or indices in the dictionary
	flags   []byte  // booleans
	plain   []byte  // texts, PLAIN
	texts   int     // in plain

	// Texts and numbers of 32 bits are stored as indices in a dictionary until that is too large.
	ofTexts   textDictionary
	ofNumbers numberDictionary
	isPlain   bool // it was too large
	resets    int  // counts the changes that made indices invalid

	chunk
}

// newColumn returns the column of a leaf of the schema.
func newColumn(leaf parquet.LeafColumn, words []string) *column {
	c := &column{
		leaf: leaf, kind: leaf.Node.Type().Kind(), isDelta: leaf.Node.Encoding() == &parquet.DeltaBinaryPacked,
		isLeveled: leaf.MaxDefinitionLevel > 0, isList: leaf.MaxRepetitionLevel > 0, words: words,
	}
	c.reset()
	return c
}

// null adds a null, or an empty list.
func (c *column) null() {
	c.levels = append(c.levels, 0)
	if c.isList {
		c.repeats = append(c.repeats, 0)
	}
}

// present adds the level of a value.
func (c *column) present() {
	if c.isLeveled {
		c.levels = append(c.levels, 1)
	}
}

// element begins the element of a list with that index.
func (c *column) element(index int) { c.repeats = append(c.repeats, byte(min(index, 1))) }

// long adds a number of 64 bits, or the bits of a double.
func (c *column) long(n int64) {
	c.present()
	c.longs = append(c.longs, n)
}

// short adds a number of 32 bits.
func (c *column) short(n int32) {
	c.present()
	if !c.isPlain {
		n = c.ofNumbers.of(n)
	}
	c.shorts = append(c.shorts, n)
}

func (c *column) text(s string) {
	c.present()
	if !c.isPlain {
		c.shorts = append(c.shorts, c.ofTexts.of(s))
		return
	}
	c.plain = appendText(c.plain, s)
	c.texts++
}

// word adds a word by its index.
func (c *column) word(n int64) {
	c.present()
	c.shorts = append(c.shorts, int32(n))
}

func (c *column) flag(is bool) {
	c.present()
	b := byte(0)
	if is {
		b = 1
	}
	c.flags = append(c.flags, b)
}

// hasDictionary reports whether values are indices in a dictionary as long as that is small enough.
func (c *column) hasDictionary() bool { return c.kind == parquet.Int32 || c.kind == parquet.ByteArray }

// dictionary returns the values of the dictionary, PLAIN, and their number.
func (c *column) dictionary() (page []byte, values int) {
	if c.kind == parquet.Int32 {
		return c.ofNumbers.page, len(c.ofNumbers.keys)
	}
	return c.ofTexts.page, len(c.ofTexts.keys)
}

// held returns the size of the open page in memory.
func (c *column) held() int {
	return 8*len(c.longs) + 4*len(c.shorts) + len(c.plain) + len(c.flags) + len(c.levels)/8 + len(c.repeats)
}

// counts returns the numbers of rows, values and nulls in the open page; nulls are values too.
func (c *column) counts() (rows, values, nulls int) {
	values = len(c.longs) + len(c.shorts) + len(c.flags) + c.texts
	if c.isLeveled {
		values, nulls = len(c.levels), bytes.Count(c.levels, []byte{0})
	}
	if rows = values; c.isList {
		rows = bytes.Count(c.repeats, []byte{0})
	}
	return rows, values, nulls
}

// endPage stores the open page. If the dictionary has more bytes than limit, the pages after it do not use it.
func (c *column) endPage(e *encoder, limit int) error {
	if err := c.store(c, e); err != nil {
		return err
	}
	c.levels, c.repeats, c.longs, c.shorts = c.levels[:0], c.repeats[:0], c.longs[:0], c.shorts[:0]
	c.flags, c.plain, c.texts = c.flags[:0], c.plain[:0], 0
	if c.isTooLarge(limit) {
		c.isPlain = true
		c.resets++
	}
	return nil
}

func (c *column) isTooLarge(limit int) bool {
	page, _ := c.dictionary()
	return len(page) > limit && c.words == nil && !c.isPlain
}

// reset begins a row group.
func (c *column) reset() {
	c.ofTexts.clear()
	c.ofNumbers.clear()
	for _, w := range c.words {
		c.ofTexts.of(w)
	}
	c.isPlain = false
	c.resets++
	c.chunk = chunk{pages: c.pages[:0], bounds: noBounds()}
}
