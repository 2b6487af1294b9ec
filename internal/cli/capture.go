package cli

import (
	"io"

	"wprof/format"
)

// Capture is the input of a tool that converts captures. All of them open, filter, read and report on it in the same way.
type Capture struct {
	In   io.Reader
	Name string // for messages

	inv    *Invocation
	doing  string // verb for messages: "convert"
	rest   string // what was done with the undamaged parts, for messages: "the output has all the rest"
	file   io.Closer
	filter CaptureFilter
}

// CaptureFilter is a reader of a part of a capture.
type CaptureFilter interface {
	io.ReadCloser
	// Outcome replaces [Capture.Outcome]. It is called once the stream was read to its end.
	Outcome() error
}

// CaptureResult is the result of reading a capture.
type CaptureResult struct {
	DroppedThreads int64          // see [Invocation.WarnDroppedThreads]
	Lost           bool           // events are missing
	Damage         *format.Damage // nil: the input was whole
}

// OpenCapture opens files as [Invocation.OpenInputs] does. doing and rest are for messages: what is done with the capture
// ("convert"), and what was done with its undamaged parts.
func (inv *Invocation) OpenCapture(doing, rest string, paths ...string) (*Capture, error) {
	in, name, err := inv.OpenInputs(paths...)
	if err != nil {
		return nil, err
	}
	return &Capture{In: in, Name: name, inv: inv, doing: doing, rest: rest, file: in}, nil
}

// IsRegular reports whether the capture is one regular file.
func (c *Capture) IsRegular() bool { return IsRegular(c.In) }

// Filter selects a part of the capture for later reads.
func (c *Capture) Filter(f CaptureFilter) { c.In, c.filter = f, f }

// Close closes the files.
func (c *Capture) Close() error {
	if c.filter != nil {
		c.filter.Close()
	}
	return c.file.Close()
}

// Reader opens a reader of the capture.
func (c *Capture) Reader() (*format.Reader, error) {
	r, err := format.NewReader(c.In)
	if err != nil {
		return nil, c.Error(err)
	}
	return r, nil
}

// Error is an error of reading or converting the capture, with its exit status.
func (c *Capture) Error(err error) error { return InputError(c.doing, c.Name, err) }

// Commit completes the outputs, unless err is one that leaves them incomplete.
func (c *Capture) Commit(err error, outputs ...*Output) error {
	if err != nil && !EndsWell(err) {
		return c.Error(err)
	}
	for _, out := range outputs {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// Outcome reports the problems of a conversion, by warnings and by the exit status of the error that it returns. err is the error
// that ended the input; it is returned too.
func (c *Capture) Outcome(done CaptureResult, err error) error {
	c.inv.WarnDroppedThreads(c.Name, done.DroppedThreads)
	switch {
	case err != nil:
		return c.Error(err)
	case c.filter != nil:
		return c.filter.Outcome()
	case done.Damage != nil:
		return Damaged(c.Name, done.Damage, c.rest)
	}
	return c.inv.Lost(c.Name, done.Lost)
}
