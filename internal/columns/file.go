package columns

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
)

// Bounds of what files hold in memory. There are some twenty, of which a few are busy.
const (
	batchRows  = 512      // rows that are sent to the file's goroutine at a time
	batchBytes = 1 << 20  // of the texts in them; one row may have more
	batches    = 3        // under way
	groupRows  = 1 << 20  // rows of a row group
	ownBytes   = 1 << 20  // of a file's row group, as it is stored
	allBytes   = 12 << 20 // of all row groups beyond that, shared by the files in proportion of their rows
)

// shape says how a file is cut. Every page and every row group is remembered until the file is complete, 120 bytes and 1.2 kB
// a column: the larger they are, the less a long stream takes. Pages are held one a column, before they are compressed.
type shape struct {
	page       int   // bytes of a page
	texts      int   // bytes of the texts of a page; by itself a page counts their indices only
	dictionary int64 // bytes of a column's dictionary, beyond which a row group has texts as they are
}

// file is one Parquet file. A goroutine of its own makes columns of rows and writes them, so that files are written on
// several CPUs.
type file[R any] struct {
	columns   []leaf[R]
	out       sink
	w         *parquet.GenericWriter[any]
	group     *parquet.ConcurrentRowGroupWriter
	texts     []int // bytes of texts in the open page of a column
	pageTexts int   // how many of them a page may have
	held      int   // rows in the open row group
	parts     []part

	rows    int64 // added so far
	all     *common
	filling *batch[R]
	made    int
	queue   chan *batch[R]
	free    chan *batch[R]
	done    chan struct{}
	failed  atomic.Bool
	err     error // of the goroutine; valid if failed is set
}

// part is what one goroutine needs to write some of the columns.
type part struct {
	values []parquet.Value
	err    error
}

// sink is where a file goes. It keeps the error of writing, which says by itself what is to be known.
type sink struct {
	io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

type batch[R any] struct {
	rows  []R
	bytes int   // of their texts
	group int64 // bytes that the row group may have
}

// common is what all files of a stream have in common.
type common struct {
	codec codec
	rows  int64 // added so far
}

// newFile begins a file.
func newFile[R any](out io.Writer, name string, s shape, all *common, fields []field[R]) *file[R] {
	schema := parquet.NewSchema(name, nodeOf(fields))
	options := []parquet.WriterOption{
		schema, parquet.Compression(&all.codec), parquet.PageBufferSize(s.page), parquet.DictionaryMaxBytes(s.dictionary),
		parquet.DataPageStatistics(false),
	}
	columns := leavesOf(fields)
	for i, path := range schema.Columns() {
		if columns[i].isText {
			options = append(options, parquet.SkipPageBounds(path...))
		}
	}
	f := &file[R]{
		columns: columns, all: all, out: sink{Writer: out}, texts: make([]int, len(columns)), pageTexts: s.texts,
		parts: make([]part, min(runtime.GOMAXPROCS(0), len(columns))),
		queue: make(chan *batch[R], batches), free: make(chan *batch[R], batches), done: make(chan struct{}),
	}
	f.w = parquet.NewGenericWriter[any](&f.out, options...)
	f.group = f.w.BeginRowGroup()
	go f.run()
	return f
}

// add is the next row, to be filled in by the caller before the next call; texts is how many bytes its texts have at most.
// What the row held before is still in it.
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
	if f.made < batches {
		f.made++
		return &batch[R]{rows: make([]R, 0, batchRows)}
	}
	return <-f.free
}

// send hands over what was added. The size of a row group follows from what was added to all files, not from how fast they
// are written, so that the same stream gives the same files.
func (f *file[R]) send() {
	n := int64(len(f.filling.rows))
	f.rows += n
	f.all.rows += n
	f.filling.group = ownBytes + int64(allBytes*float64(f.rows)/float64(f.all.rows))
	f.queue <- f.filling
	f.filling = nil
}

// end has everything written that was added; close waits for it.
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
	for b := range f.queue {
		if f.err == nil {
			f.note(f.write(b))
		}
		b.rows, b.bytes = b.rows[:0], 0
		f.free <- b
	}
	if f.err == nil {
		f.note(f.flush())
	}
	if f.err == nil {
		f.note(f.w.Close())
	}
}

func (f *file[R]) note(err error) {
	if err == nil {
		return
	}
	if f.err = err; f.out.err != nil {
		f.err = f.out.err
	}
	f.failed.Store(true)
}

// write writes a batch. Those of the busiest files are the bulk of the work: their columns are written on all CPUs.
func (f *file[R]) write(b *batch[R]) error {
	parts := f.parts
	if len(b.rows) < batchRows {
		parts = parts[:1]
	}
	writers := f.group.ColumnWriters()
	var others sync.WaitGroup
	for i := range parts[1:] {
		others.Go(func() { f.writePart(i+1, len(parts), b.rows, writers) })
	}
	f.writePart(0, len(parts), b.rows, writers)
	others.Wait()
	for i := range parts {
		if err := parts[i].err; err != nil {
			return err
		}
	}
	f.held += len(b.rows)
	if f.held >= groupRows || f.group.Size() >= b.group {
		return f.flush()
	}
	return nil
}

// writePart writes one column of so many.
func (f *file[R]) writePart(number, of int, rows []R, writers []*parquet.ColumnWriter) {
	p := &f.parts[number]
	for i := number; i < len(f.columns) && p.err == nil; i += of {
		p.values = f.columns[i].append(p.values[:0], rows)
		p.err = f.writeColumn(i, p.values, writers[i])
	}
}

func (f *file[R]) writeColumn(i int, values []parquet.Value, w *parquet.ColumnWriter) error {
	if _, err := w.WriteRowValues(values); err != nil || !f.columns[i].isText {
		return err
	}
	// A dictionary is only looked at between pages, so that it could grow to any size in one.
	for k := range values {
		f.texts[i] += len(values[k].ByteArray())
	}
	if f.texts[i] <= f.pageTexts {
		return nil
	}
	f.texts[i] = 0
	return w.Flush()
}

// flush ends the row group.
func (f *file[R]) flush() error {
	if f.held == 0 {
		return nil
	}
	f.held = 0
	clear(f.texts)
	_, err := f.group.Commit()
	return err
}
