package ndjson

import (
	"io"
	"runtime"
	"sync"

	"wprof/internal/records"
)

// batchRecords is how many records are written by one goroutine at a time.
const batchRecords = 1024

// batchValues is the number of values of typed events, including elements of lists, after which a batch ends; 64 bytes of text count
// as a value.
const batchValues = 16 << 10

// batch is a number of lines that are written together.
type batch struct {
	records []records.Record
	n       int
	values  int
	text    []byte
	ready   chan struct{} // has a token when text is written
}

// writer writes records in order, in goroutines of its own. It is used by one goroutine.
type writer struct {
	l     *layout
	w     io.Writer
	free  chan *batch
	work  chan *batch
	order chan *batch
	at    *batch // being filled; nil: none
	done  sync.WaitGroup

	mu     sync.Mutex
	failed error
}

func newWriter(w io.Writer, l *layout) *writer {
	formatters := runtime.GOMAXPROCS(0)
	inFlight := 2*formatters + 2
	out := &writer{l: l, w: w, free: make(chan *batch, inFlight), work: make(chan *batch, inFlight), order: make(chan *batch, inFlight)}
	for range inFlight {
		out.free <- &batch{records: make([]records.Record, batchRecords), ready: make(chan struct{}, 1)}
	}
	for range formatters {
		out.done.Add(1)
		go out.format()
	}
	out.done.Add(1)
	go out.write()
	return out
}

// raw is the kind of a record that is a complete line.
const raw = records.Kind(0)

// put adds a record.
func (w *writer) put(r *records.Record) error {
	if w.at == nil {
		w.at = <-w.free
		w.at.n, w.at.values = 0, 0
		if err := w.err(); err != nil {
			return err
		}
	}
	slot := &w.at.records[w.at.n]
	args, numbers := append(slot.Args[:0], r.Args...), append(slot.Numbers[:0], r.Numbers...)
	*slot = *r
	slot.Args, slot.Numbers = args, numbers
	w.at.values += countValues(args) + len(r.Text)>>6
	if w.at.n++; w.at.n == batchRecords || w.at.values >= batchValues {
		w.flush()
	}
	return nil
}

// putLine adds a line that is formatted already, with its punctuation.
func (w *writer) putLine(line []byte) error {
	return w.put(&records.Record{Kind: raw, Text: string(line)})
}

// flush passes the current batch on.
func (w *writer) flush() {
	if w.at == nil {
		return
	}
	w.order <- w.at
	w.work <- w.at
	w.at = nil
}

func (w *writer) format() {
	defer w.done.Done()
	for b := range w.work {
		text := b.text[:0]
		for i := range b.records[:b.n] {
			if r := &b.records[i]; r.Kind == raw {
				text = append(text, r.Text...)
			} else {
				text = w.l.append(text, r)
			}
		}
		b.text = text
		b.ready <- struct{}{}
	}
}

func (w *writer) write() {
	defer w.done.Done()
	for b := range w.order {
		<-b.ready
		if w.err() == nil {
			if _, err := w.w.Write(b.text); err != nil {
				w.mu.Lock()
				w.failed = err
				w.mu.Unlock()
			}
		}
		w.free <- b
	}
}

func (w *writer) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// close writes everything and ends the goroutines.
func (w *writer) close() error {
	w.flush()
	close(w.work)
	close(w.order)
	w.done.Wait()
	return w.err()
}

func countValues(args []records.Arg) int {
	n := len(args)
	for i := range args {
		n += countValues(args[i].Elements) + len(args[i].Text)>>6
	}
	return n
}
