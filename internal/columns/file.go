package columns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of what files hold in memory. There are some twenty, of which a few are busy.
const (
	batchRows  = 512      // rows that are sent to the file's goroutine at a time
	batchBytes = 1 << 20  // of the texts in them; one row may have more
	maxBatches = 3        // of a file
	groupRows  = 1 << 20  // rows of a row group
	ownBytes   = 1 << 20  // of a file's row group, as it is stored
	allBytes   = 12 << 20 // of all row groups beyond that, shared by the files in proportion of their rows
)

// pageLimits are the sizes at which a page and a dictionary end. Every row group stays in memory until the file is complete, 0.6 kB a
// column: the larger they are, the less memory a long stream takes. Open pages are in memory uncompressed.
type pageLimits struct {
	page       int // bytes of a page
	dictionary int // bytes of a column's dictionary, beyond which it is not used in the rest of the row group
}

// file is one Parquet file. A goroutine of its own makes columns of rows and writes them, so that files are written on
// several CPUs.
type file[R any] struct {
	pageLimits
	leaves  []leaf[R]
	columns []*column
	encoder encoder
	out     *bufio.Writer
	written int64
	footer  format.FileMetaData
	open    int // rows in the open row group

	rows    int64 // added so far
	shared  *shared
	filling *batch[R]
	batches int // created
	queue   chan *batch[R]
	free    chan *batch[R]
	done    chan struct{}
	failed  atomic.Bool
	err     error // of the goroutine; valid if failed is set
}

type batch[R any] struct {
	rows  []R
	bytes int   // of their texts
	group int64 // bytes that the row group may have
}

// shared is what all files of a stream share.
type shared struct {
	codec codec
	rows  int64 // added so far
}

// magic begins and ends a file.
const magic = "PAR1"

// newFile begins a file.
func newFile[R any](out io.Writer, name string, s pageLimits, common *shared, fields []field[R]) (*file[R], error) {
	schema := parquet.NewSchema(name, nodeOf(fields))
	footer, err := emptyFooter(schema)
	if err != nil {
		return nil, err
	}
	f := &file[R]{
		pageLimits: s, leaves: leavesOf(fields), encoder: encoder{codec: &common.codec}, out: bufio.NewWriter(out), footer: footer, shared: common,
		queue: make(chan *batch[R], maxBatches), free: make(chan *batch[R], maxBatches), done: make(chan struct{}),
	}
	paths := schema.Columns()
	for _, l := range f.leaves {
		for range l.width {
			leaf, _ := schema.Lookup(paths[len(f.columns)]...)
			f.columns = append(f.columns, newColumn(leaf, l.words))
		}
	}
	go f.run()
	return f, nil
}

// emptyFooter returns the footer of a file without rows.
func emptyFooter(schema *parquet.Schema) (format.FileMetaData, error) {
	var b bytes.Buffer
	if err := parquet.NewGenericWriter[any](&b, schema).Close(); err != nil {
		return format.FileMetaData{}, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return format.FileMetaData{}, err
	}
	footer := *f.Metadata()
	footer.CreatedBy = "wprof"
	return footer, nil
}

// add returns the next row, which the caller fills in before the next call; texts is the maximum size of its texts in bytes.
// The row still has its earlier contents.
func (f *file[R]) add(texts int) (*R, error) {
	b := f.filling
	if b != nil && (len(b.rows) == cap(b.rows) || b.bytes+texts > batchBytes && len(b.rows) > 0) {
		f.send()
		b = nil
	}
	if b == nil {
		if f.failed.Load() {
			return nil, f.err
		}
		b = f.next()
		f.filling = b
	}
	b.bytes += texts
	b.rows = b.rows[:len(b.rows)+1]
	return &b.rows[len(b.rows)-1], nil
}

func (f *file[R]) next() *batch[R] {
	select {
	case b := <-f.free:
		return b
	default:
	}
	if f.batches < maxBatches {
		f.batches++
		return &batch[R]{rows: make([]R, 0, batchRows)}
	}
	return <-f.free
}

// send passes on the rows that were added. The size of a row group follows from what was added to all files, not from how fast they
// are written, so that the same stream gives the same files.
func (f *file[R]) send() {
	n := int64(len(f.filling.rows))
	f.rows += n
	f.shared.rows += n
	f.filling.group = ownBytes + int64(allBytes*float64(f.rows)/float64(f.shared.rows))
	f.queue <- f.filling
	f.filling = nil
}

// end passes on the last batch; close waits until the file is complete.
func (f *file[R]) end() {
	if f.filling != nil {
		f.send()
	}
	close(f.queue)
}

// close waits for the file to be complete.
func (f *file[R]) close() error {
	<-f.done
	return f.err
}

func (f *file[R]) run() {
	defer close(f.done)
	f.setError(f.put([]byte(magic)))
	for b := range f.queue {
		if f.err == nil {
			f.setError(f.write(b))
		}
		b.rows, b.bytes = b.rows[:0], 0
		f.free <- b
	}
	if f.err == nil {
		f.setError(f.endGroup())
	}
	if f.err == nil {
		f.setError(f.writeFooter())
	}
}

func (f *file[R]) setError(err error) {
	if err != nil {
		f.err = err
		f.failed.Store(true)
	}
}

// put writes to the file.
func (f *file[R]) put(b []byte) error {
	f.written += int64(len(b))
	_, err := f.out.Write(b)
	return err
}

// write adds the rows of a batch to the columns.
func (f *file[R]) write(b *batch[R]) error {
	columns := f.columns
	for i := range f.leaves {
		l := &f.leaves[i]
		l.put(columns[:l.width], b.rows)
		columns = columns[l.width:]
	}
	f.open += len(b.rows)
	size := int64(0)
	for _, c := range f.columns {
		if c.held() >= f.page || c.isTooLarge(f.dictionary) {
			if err := c.endPage(&f.encoder, f.dictionary); err != nil {
				return err
			}
		}
		size += c.stored
	}
	if f.open >= groupRows || size >= b.group {
		return f.endGroup()
	}
	return nil
}

// endGroup writes the row group.
func (f *file[R]) endGroup() error {
	if f.open == 0 {
		return nil
	}
	group := format.RowGroup{NumRows: int64(f.open), FileOffset: f.written, Ordinal: int16(len(f.footer.RowGroups))}
	for _, c := range f.columns {
		m, err := f.endColumn(c)
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: m})
		group.TotalByteSize += m.TotalUncompressedSize
		group.TotalCompressedSize += m.TotalCompressedSize
	}
	f.footer.RowGroups = append(f.footer.RowGroups, group)
	f.footer.NumRows += group.NumRows
	f.open = 0
	return nil
}

// endColumn writes the pages of a column.
func (f *file[R]) endColumn(c *column) (m format.ColumnMetaData, err error) {
	at, dictionary := f.written, []byte(nil)
	if err := c.endPage(&f.encoder, f.dictionary); err != nil {
		return m, err
	}
	if c.hasDictionary() {
		if dictionary, err = c.dictionaryPage(c, &f.encoder); err != nil {
			return m, err
		}
		if err := f.put(dictionary); err != nil {
			return m, err
		}
	}
	for _, page := range c.pages {
		if err := f.put(page); err != nil {
			return m, err
		}
	}
	m = c.metadata(c, at, len(dictionary))
	clear(c.pages)
	c.reset()
	return m, nil
}

func (f *file[R]) writeFooter() error {
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), f.footer)
	if err != nil {
		return err
	}
	if err := f.put(footer); err != nil {
		return err
	}
	if err := f.put(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), magic...)); err != nil {
		return err
	}
	return f.out.Flush()
}
