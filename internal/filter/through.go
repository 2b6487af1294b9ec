package filter

import (
	"io"

	"wprof/format"
	"wprof/internal/cli"
)

// Asked tells whether flags of [Flags] or [RecordFlags] were given.
func Asked(inv *cli.Invocation) bool {
	for _, group := range []cli.Group{Flags(), RecordFlags()} {
		for _, f := range group.Flags {
			if inv.IsSet(f.Name) {
				return true
			}
		}
	}
	return false
}

// Through is a stream that is filtered while it is read, for tools that take the filter's flags themselves.
type Through struct {
	*io.PipeReader
	inv      *cli.Invocation
	name     string
	words    Words
	isFinite bool
	finished chan struct{}
	result   Result
	err      error
}

// Words are how messages speak of a filter.
type Words struct {
	Start, End string // the flags of the time range
	Empty      string // what comes of it if nothing is kept; "": the tool says so itself
	Rest       string // what comes of a damaged input
}

// NewThrough begins to filter an input. The name is for messages.
func NewThrough(inv *cli.Invocation, in io.Reader, name string, o Options, words Words) (*Through, error) {
	o.start, o.end = words.Start, words.End
	r, w := io.Pipe()
	f, err := New(in, w, !isRegular(in), o)
	if err != nil {
		return nil, cli.InputError("filter", name, err)
	}
	t := &Through{PipeReader: r, inv: inv, name: name, words: words, isFinite: format.IsFinite(in), finished: make(chan struct{})}
	go func() {
		defer close(t.finished)
		t.result, t.err = f.Run()
		if t.err != nil && !cli.EndsWell(t.err) {
			w.CloseWithError(t.err)
			return
		}
		w.Close()
	}()
	return t, nil
}

// Finite tells whether the stream surely ends.
func (t *Through) Finite() bool { return t.isFinite }

// Outcome says what happened, in messages and by the error's exit status, after the stream was read to its end.
func (t *Through) Outcome() error {
	t.Close()
	<-t.finished
	return outcome(t.inv, t.name, t.words, t.result, t.err)
}
