package filter

import (
	"io"
	"slices"

	"wprof/format"
	"wprof/internal/cli"
)

// FlagsGiven reports whether any of [Conditions] was given.
func FlagsGiven(inv *cli.Invocation) bool {
	return slices.ContainsFunc(Conditions(), func(g cli.Group) bool { return anyGiven(inv, g) })
}

// EventFlagsGiven reports whether any of [EventFlags] was given, but for --no-self, which is a condition on threads.
func EventFlagsGiven(inv *cli.Invocation) bool {
	g := EventFlags("", "")
	g.Flags = slices.DeleteFunc(g.Flags, func(f cli.Flag) bool { return f.Name == "no-self" })
	return anyGiven(inv, g)
}

func anyGiven(inv *cli.Invocation, g cli.Group) bool {
	return slices.ContainsFunc(g.Flags, func(f cli.Flag) bool { return inv.IsSet(f.Name) })
}

// FilteredReader is a stream that is filtered while it is read, for tools that have the filter's flags themselves.
type FilteredReader struct {
	*io.PipeReader
	inv      *cli.Invocation
	name     string
	messages Messages
	isFinite bool
	finished chan struct{}
	result   Result
	err      error
}

// Messages are parts of messages about a filter.
type Messages struct {
	Start, End string // the flags of the time range
	Empty      string // the result if nothing is kept; "": the tool reports that itself
	Rest       string // the result of a damaged input
}

// NewFilteredReader begins to filter an input. The name is for messages.
func NewFilteredReader(inv *cli.Invocation, in io.Reader, name string, o Options, messages Messages) (*FilteredReader, error) {
	o.start, o.end = messages.Start, messages.End
	r, w := io.Pipe()
	f, err := New(in, w, !cli.IsRegular(in), o)
	if err != nil {
		return nil, cli.InputError("filter", name, err)
	}
	t := &FilteredReader{PipeReader: r, inv: inv, name: name, messages: messages, isFinite: format.IsFinite(in), finished: make(chan struct{})}
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

// Finite reports whether the stream is known to end.
func (t *FilteredReader) Finite() bool { return t.isFinite }

// Outcome reports the outcome in messages and by the error's exit status, after the stream was read to its end.
func (t *FilteredReader) Outcome() error {
	t.Close()
	<-t.finished
	return outcome(t.inv, t.name, t.messages, t.result, t.err)
}
