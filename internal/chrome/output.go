package chrome

import "io"

// chunk is the size in bytes from which a buffer is passed to the output.
const chunk = 256 << 10

// output is the trace so far: text goes to the buffer, and from there, in another goroutine, to the writer.
type output struct {
	b       []byte
	any     bool // an event was written
	written int64
	full    chan []byte
	empty   chan []byte
	failed  chan error // gets one value, when the writer will take no more
	err     error
}

func newOutput(w io.Writer) *output {
	o := &output{full: make(chan []byte), empty: make(chan []byte, 2), failed: make(chan error, 1)}
	o.empty <- make([]byte, 0, chunk*2)
	o.b = make([]byte, 0, chunk*2)
	go o.drain(w)
	return o
}

// drain writes buffers. After an error it still receives them, so that no sender blocks.
func (o *output) drain(w io.Writer) {
	var failed error
	for b := range o.full {
		if failed == nil {
			_, failed = w.Write(b)
		}
		o.empty <- b[:0]
		if failed != nil {
			break
		}
	}
	o.failed <- failed
}

// flush passes the buffer on if it is large enough. It returns the error that ended the output.
func (o *output) flush() error {
	if len(o.b) < chunk {
		return o.err
	}
	return o.pass()
}

func (o *output) pass() error {
	if o.err != nil {
		o.b = o.b[:0]
		return o.err
	}
	o.written += int64(len(o.b))
	select {
	case o.full <- o.b:
		o.b = <-o.empty
	case o.err = <-o.failed:
		o.b = o.b[:0]
	}
	return o.err
}

// close writes what is left and waits until it is written.
func (o *output) close() error {
	_ = o.pass()
	close(o.full)
	if o.err == nil {
		o.err = <-o.failed
	}
	return o.err
}

// next begins another event with the separator before it. Nothing else may be written until the event is complete.
func (o *output) next() []byte {
	if !o.any {
		o.any = true
		return o.b
	}
	return append(o.b, ",\n"...)
}
