package firefox

import (
	"encoding/binary"
	"errors"
	"io"

	"wprof/internal/spill"
)

// table is a table of the profile. Its rows are kept until it is written column by column. A row consists of integers and, in
// some tables, a text after them.
type table struct {
	chain *spill.Chain
	rows  int
}

func (p *profile) table() table { return table{chain: p.store.Chain()} }

// add appends a row and returns its index. Its values are those of the columns with the same numbers.
func (t *table) add(p *profile, values ...int64) int32 {
	t.addText(p, nil, values...)
	return int32(t.rows - 1)
}

// addText appends a row that ends with a text.
func (t *table) addText(p *profile, text []byte, values ...int64) {
	b := t.chain.Buffer()
	for _, v := range values {
		b = binary.AppendVarint(b, v)
	}
	b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	if err := t.chain.Commit(b); err != nil && p.failed == nil {
		p.failed = err
	}
	t.rows++
}

// column defines how a column is written.
type column struct {
	name string
	show func(b []byte, r *row) []byte
}

// row is one row of a table while it is read back.
type row struct {
	number int
	values [maxValues]int64
	text   []byte
}

// maxValues is the largest number of integers in a row.
const maxValues = 6

// number is a column of one of a row's integers.
func number(name string, value int) column {
	return column{name, func(b []byte, r *row) []byte { return appendInt(b, r.values[value]) }}
}

// index is a column of indices of another table, in which -1 stands for none.
func index(name string, value int) column {
	return column{name, func(b []byte, r *row) []byte {
		if r.values[value] < 0 {
			return append(b, "null"...)
		}
		return appendInt(b, r.values[value])
	}}
}

// millis is a column of ns that are written as ms.
func millis(name string, value int) column {
	return column{name, func(b []byte, r *row) []byte { return appendMillis(b, r.values[value]) }}
}

// same is a column that has the same value in all rows.
func same(name, value string) column {
	return column{name, func(b []byte, _ *row) []byte { return append(b, value...) }}
}

// text is a column of the rows' texts, which are JSON.
func text(name string) column {
	return column{name, func(b []byte, r *row) []byte { return append(b, r.text...) }}
}

var errChanged = errors.New("read back the columns of the profile: the temporary file was changed by others")

// write writes the members of a table: its length, and each column as an array. values is the number of integers in a row.
func (t *table) write(w *writer, values int, columns []column) {
	w.text(`"length":`)
	w.b = appendInt(w.b, int64(t.rows))
	for _, c := range columns {
		w.text(",\n\"" + c.name + `":`)
		t.array(w, values, c)
	}
}

// array writes one column.
func (t *table) array(w *writer, values int, c column) {
	w.text("[")
	w.fail(t.each(values, func(r *row) error {
		if r.number > 0 {
			w.b = append(w.b, ',')
		}
		w.b = c.show(w.b, r)
		return w.flush()
	}))
	w.text("]")
}

// each visits the rows in their order.
func (t *table) each(values int, visit func(*row) error) error {
	var r row
	return t.chain.Each(func(chunk []byte) error { return eachRow(chunk, values, &r, visit) })
}

func eachRow(chunk []byte, values int, r *row, visit func(*row) error) error {
	for len(chunk) > 0 {
		for i := range values {
			v, n := binary.Varint(chunk)
			if n <= 0 {
				return errChanged
			}
			r.values[i], chunk = v, chunk[n:]
		}
		length, n := binary.Uvarint(chunk)
		if n <= 0 || length > uint64(len(chunk)-n) {
			return errChanged
		}
		r.text, chunk = chunk[n:n+int(length)], chunk[n+int(length):]
		if err := visit(r); err != nil {
			return err
		}
		r.number++
	}
	return nil
}

// writer writes the profile in large parts.
type writer struct {
	out     io.Writer
	b       []byte
	written int64
	failed  error
}

// writeFrom is the size in bytes from which the buffer is written.
const writeFrom = 256 << 10

func (w *writer) text(s string) { w.b = append(w.b, s...) }

func (w *writer) flush() error {
	if len(w.b) < writeFrom || w.failed != nil {
		return w.failed
	}
	return w.finish()
}

func (w *writer) finish() error {
	if w.failed == nil {
		_, err := w.out.Write(w.b)
		w.fail(err)
		w.written += int64(len(w.b))
	}
	w.b = w.b[:0]
	return w.failed
}

func (w *writer) fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
}
