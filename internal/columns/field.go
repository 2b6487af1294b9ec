package columns

import (
	"math"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// field is a column of the rows R, or a group of columns.
type field[R any] struct {
	name   string
	node   parquet.Node
	leaves []leaf[R]
	inner  []field[R] // of a group
}

// leaf defines how the values of a column of numbers, words or texts are made.
type leaf[R any] struct {
	append func(to []parquet.Value, rows []R) []parquet.Value
	isText bool // its values have any length
}

// number converts a number to a value of a Parquet type.
type number func(int64) parquet.Value

func long(n int64) parquet.Value  { return parquet.Int64Value(n) }
func short(n int64) parquet.Value { return parquet.Int32Value(int32(n)) }

// double converts the bits of a float64.
func double(bits int64) parquet.Value { return parquet.DoubleValue(math.Float64frombits(uint64(bits))) }

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

// present is the value of an optional column.
func present(v parquet.Value) parquet.Value {
	v.SetDefinitionLevel(1)
	return v
}

func required[R any](name string, node parquet.Node, make number, get func(*R) int64) field[R] {
	return one(name, node, leaf[R]{append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			to = append(to, make(get(&rows[i])))
		}
		return to
	}})
}

func optional[R any](name string, node parquet.Node, make number, get func(*R) (int64, bool)) field[R] {
	return one(name, parquet.Optional(node), leaf[R]{append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			if n, has := get(&rows[i]); has {
				to = append(to, present(make(n)))
			} else {
				to = append(to, parquet.Value{})
			}
		}
		return to
	}})
}

// flag is a column of booleans.
func flag[R any](name string, get func(*R) bool) field[R] {
	return one(name, parquet.Leaf(parquet.BooleanType), leaf[R]{append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			to = append(to, parquet.BooleanValue(get(&rows[i])))
		}
		return to
	}})
}

// word is a column of words from a list, by their index.
func word[R any](name string, words []string, get func(*R) int64) field[R] {
	values := wordValues(words)
	return required(name, textNode(), func(n int64) parquet.Value { return values[n] }, get)
}

func wordValues(words []string) []parquet.Value {
	values := make([]parquet.Value, len(words))
	for i, w := range words {
		values[i] = textValue(w)
	}
	return values
}

// text is a required column of any text.
func text[R any](name string, get func(*R) string) field[R] {
	return one(name, textNode(), leaf[R]{isText: true, append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			to = append(to, textValue(get(&rows[i])))
		}
		return to
	}})
}

// optionalText is a column of any text; get reports whether a row has it.
func optionalText[R any](name string, get func(*R) (string, bool)) field[R] {
	return one(name, parquet.Optional(textNode()), leaf[R]{isText: true, append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			if s, has := get(&rows[i]); has {
				to = append(to, present(textValue(s)))
			} else {
				to = append(to, parquet.Value{})
			}
		}
		return to
	}})
}

// list is a required column of lists with required elements.
func list[R, E any](name string, element parquet.Node, isText bool, get func(*R) []E, value func(*E) parquet.Value) field[R] {
	return one(name, parquet.List(element), listLeaf(isText, get, value))
}

func listLeaf[R, E any](isText bool, get func(*R) []E, value func(*E) parquet.Value) leaf[R] {
	return leaf[R]{isText: isText, append: func(to []parquet.Value, rows []R) []parquet.Value {
		for i := range rows {
			all := get(&rows[i])
			if len(all) == 0 {
				to = append(to, parquet.Value{})
			}
			for at := range all {
				to = append(to, value(&all[at]).Level(min(at, 1), 1, 0))
			}
		}
		return to
	}}
}

// texts is a column of lists of texts.
func texts[R any](name string, get func(*R) []string) field[R] {
	return list(name, textNode(), true, get, func(s *string) parquet.Value { return textValue(*s) })
}

// numbers is a column of lists of numbers.
func numbers[R any](name string, get func(*R) []float64) field[R] {
	return list(name, parquet.Leaf(parquet.DoubleType), false, get, func(n *float64) parquet.Value { return parquet.DoubleValue(*n) })
}

// group puts fields under one name. It is required, because not every engine reads optional groups: where there is
// no value, its fields are null.
func group[R any](name string, fields ...field[R]) field[R] {
	return field[R]{name: name, node: nodeOf(fields), inner: fields}
}

func one[R any](name string, node parquet.Node, l leaf[R]) field[R] {
	return field[R]{name: name, node: node, leaves: []leaf[R]{l}}
}

func textNode() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

// textValue makes a value without a copy: a string never changes.
func textValue(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

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
