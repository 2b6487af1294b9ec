package chrome

import (
	"io"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// Write writes a stream as a trace. Whatever ends the stream, the trace is well-formed; errors of the stream come back
// after all before them has been written.
func Write(r *format.Reader, w io.Writer, o Options) (Result, error) {
	c := newConversion(r, newOutput(w), o)
	c.out.b = append(c.out.b, `{"traceEvents":[`+"\n"...)
	sum, err := tracks.Draw(r, c, tracks.Options{Threads: true, NoStacks: o.NoStacks, Python: o.Python})
	c.finish(&c.about.Session, sum.Lost)
	if failed := c.out.close(); failed != nil {
		err = failed
	}
	return Result{Events: sum.Events, Bytes: c.out.written, Lost: sum.Lost, DroppedThreads: sum.DroppedThreads, NotUTF8: c.texts.NotUTF8()}, err
}

// conversion is the [tracks.Encoder] of Chrome's format.
type conversion struct {
	options Options
	out     *output
	texts   records.Texts
	about   records.About
	first   int64 // when the first window opened

	rows      threadRows
	cpus      cpus
	recording recording
	tree      tree
	noStack   stackText
	states    map[format.State]stateText
	arrowID   int64
	scratch   [24]byte
}

func newConversion(r *format.Reader, out *output, o Options) *conversion {
	return &conversion{
		options: o, out: out, first: r.FirstOpen(), rows: newThreadRows(), tree: newTree(),
		recording: recording{until: make(map[int64]int64)}, states: make(map[format.State]stateText),
	}
}

// Section implements [tracks.Encoder].
func (c *conversion) Section(s *format.Session) {
	c.rows.newSection()
	c.cpus.describe(s)
}

// Open implements [tracks.Encoder].
func (c *conversion) Open(at int64, s *format.Session) {
	c.about.Open(s, at)
	for _, one := range s.Cpus {
		if !one.Offline {
			c.cpu(one.Id)
		}
	}
}

// Close implements [tracks.Encoder].
func (c *conversion) Close(int64) {}

// Flush implements [tracks.Encoder].
func (c *conversion) Flush() error { return c.out.flush() }
