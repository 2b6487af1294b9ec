package perfetto

import (
	"io"

	"wprof/format"
	"wprof/internal/timeline"
)

// Summary is what a conversion came to.
type Summary struct {
	Events      int64
	Bytes       int64 // of the trace
	SkippedCPUs int64 // events of CPUs with numbers that Perfetto refuses
	Forgotten   int64 // threads that the trace ends although the stream does not
	Lost        bool  // events are missing
}

// Convert writes a stream as a trace. Whatever ends the stream, the trace is well-formed; errors of the stream come
// back after all before them has been written.
func Convert(r *format.Reader, w io.Writer, options Options) (Summary, error) {
	c := conversion{r: r, e: NewEncoder(w, r, options)}
	c.e.System(r.Session())
	err := timeline.Visit(r, &c)
	return Summary{Events: c.count, Bytes: c.e.written, SkippedCPUs: c.e.skipped, Lost: c.lost, Forgotten: c.e.forgotten()}, err
}

// conversion is the [timeline.Visitor] that encodes.
type conversion struct {
	r     *format.Reader
	e     *Encoder
	count int64
	lost  bool
}

func (c *conversion) NewSection(s *format.Session) error {
	c.e.NewSection(s)
	c.e.Clocks(c.r.Clocks())
	return nil
}

func (c *conversion) Open(s *format.Session, at, before int64, isFirst bool) error {
	if !isFirst {
		c.e.NotRecorded(before, at)
	}
	c.e.Open(at, s)
	return nil
}

func (c *conversion) Event(e *format.Event) error {
	if all := c.r.Clocks(); len(all) != c.e.clocks {
		c.e.Clocks(all)
	}
	c.count++
	c.lost = c.lost || e.Kind == format.KindLost
	return c.e.Event(e)
}

func (c *conversion) Close(at int64) error { return c.e.Close(at) }
