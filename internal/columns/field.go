package columns

import (
	"math"

	"github.com/parquet-go/parquet-go"
)

// field is a column of the rows R, or a group of columns.
type field[R any] struct {
	name   string
	node   parquet.Node
	leaves []leaf[R]
	inner  []field[R] // of a group
}

// leaf adds the values of rows to a column, or to several that follow each other.
type leaf[R any] struct {
	width int
	words []string // the values of a column of words; nil: it is none
	put   func(to []*column, rows []R)
}

// addNumber adds a number to a column of a Parquet type.
type addNumber func(*column, int64)

func long(c *column, n int64)    { c.long(n) }
func short(c *column, n int64)   { c.short(int32(n)) }
func boolean(c *column, n int64) { c.flag(n != 0) }

// integer is a required column of 64 bits.
func integer[R any](name string, get func(*R) int64) field[R] {
	return required(name, longNode(), long, get)
}

// optionalInteger is a column of 64 bits; get reports whether a row has it.
func optionalInteger[R any](name string, get func(*R) (int64, bool)) field[R] {
	return optional(name, longNode(), long, get)
}

// longNode stores differences: most values are times and ids that grow, or hardly ever change.
func longNode() parquet.Node { return parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked) }

// optionalShort is a column of 32 bits.
func optionalShort[R any](name string, get func(*R) (int64, bool)) field[R] {
	return optional(name, parquet.Int(32), short, get)
}

// requiredShort is a required column of 32 bits.
func requiredShort[R any](name string, get func(*R) int64) field[R] {
	return required(name, parquet.Int(32), short, get)
}

func required[R any](name string, node parquet.Node, add addNumber, get func(*R) int64) field[R] {
	return leafField(name, node, func(c *column, rows []R) {
		for i := range rows {
			add(c, get(&rows[i]))
		}
	})
}

func optional[R any](name string, node parquet.Node, add addNumber, get func(*R) (int64, bool)) field[R] {
	return leafField(name, parquet.Optional(node), func(c *column, rows []R) {
		for i := range rows {
			if n, has := get(&rows[i]); has {
				add(c, n)
			} else {
				c.null()
			}
		}
	})
}

// flag is a column of booleans.
func flag[R any](name string, get func(*R) bool) field[R] {
	return leafField(name, parquet.Leaf(parquet.BooleanType), func(c *column, rows []R) {
		for i := range rows {
			c.flag(get(&rows[i]))
		}
	})
}

// word is a column of words from a list, by their index.
func word[R any](name string, words []string, get func(*R) int64) field[R] {
	f := required(name, textNode(), (*column).word, get)
	f.leaves[0].words = words
	return f
}

// text is a required column of any text.
func text[R any](name string, get func(*R) string) field[R] {
	return leafField(name, textNode(), func(c *column, rows []R) {
		for i := range rows {
			c.text(get(&rows[i]))
		}
	})
}

// optionalText is a column of any text; get reports whether a row has it.
func optionalText[R any](name string, get func(*R) (string, bool)) field[R] {
	return leafField(name, parquet.Optional(textNode()), func(c *column, rows []R) {
		for i := range rows {
			if s, has := get(&rows[i]); has {
				c.text(s)
			} else {
				c.null()
			}
		}
	})
}

// list adds lists to a column, with its method for one element.
func list[R, E any](get func(*R) []E, add func(*column, E)) func(*column, []R) {
	return func(c *column, rows []R) {
		for i := range rows {
			all := get(&rows[i])
			if len(all) == 0 {
				c.null()
			}
			for at, one := range all {
				c.element(at)
				add(c, one)
			}
		}
	}
}

// texts is a column of lists of texts.
func texts[R any](name string, get func(*R) []string) field[R] {
	return leafField(name, parquet.List(textNode()), list(get, (*column).text))
}

// numbers is a column of lists of numbers.
func numbers[R any](name string, get func(*R) []float64) field[R] {
	double := func(c *column, n float64) { c.long(int64(math.Float64bits(n))) }
	return leafField(name, parquet.List(parquet.Leaf(parquet.DoubleType)), list(get, double))
}

// group puts fields under one name. It is required, because not every engine reads optional groups: where there is
// no value, its fields are null.
func group[R any](name string, fields ...field[R]) field[R] {
	return field[R]{name: name, node: nodeOf(fields), inner: fields}
}

func leafField[R any](name string, node parquet.Node, put func(*column, []R)) field[R] {
	return field[R]{name: name, node: node, leaves: []leaf[R]{singleLeaf(put)}}
}

func singleLeaf[R any](put func(*column, []R)) leaf[R] {
	return leaf[R]{width: 1, put: func(to []*column, rows []R) { put(to[0], rows) }}
}

func textNode() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

// ordered is a group that keeps the order of its fields; the library sorts them by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

func nodeOf[R any](fields []field[R]) parquet.Node {
	o := ordered{Group: make(parquet.Group)}
	for _, f := range fields {
		o.Group[f.name] = f.node
	}
	sorted := make(map[string]parquet.Field)
	for _, f := range o.Group.Fields() {
		sorted[f.Name()] = f
	}
	for _, f := range fields {
		o.fields = append(o.fields, sorted[f.name])
	}
	return o
}

// leavesOf returns the columns of fields in the order of the file.
func leavesOf[R any](fields []field[R]) []leaf[R] {
	var all []leaf[R]
	for _, f := range fields {
		all = append(append(all, f.leaves...), leavesOf(f.inner)...)
	}
	return all
}
