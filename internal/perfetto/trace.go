package perfetto

import (
	"fmt"
	"io"
	"math"
)

// writeBytes is how much is written at once.
const writeBytes = 1 << 20

// trace is the trace so far.
type trace struct {
	w       io.Writer
	err     error
	out     []byte // not yet written
	written int64
	clock   clock
	now     int64 // of the last event, CLOCK_MONOTONIC ns
}

func newTrace(w io.Writer) *trace { return &trace{w: w, clock: newClock(), now: math.MinInt64} }

// size is that of the trace in bytes.
func (t *trace) size() int64 { return t.written + int64(len(t.out)) }

// write writes the text so far.
func (t *trace) write() error {
	if t.err == nil && len(t.out) > 0 {
		n, err := t.w.Write(t.out)
		t.written += int64(n)
		if err != nil {
			t.err = fmt.Errorf("write the trace: %w", err)
		}
	}
	t.out = t.out[:0]
	return t.err
}
