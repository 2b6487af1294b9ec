package perfetto

import (
	"errors"
	"io"

	"wprof/format"
)

// Summary is what a conversion came to.
type Summary struct {
	Events      int64
	Bytes       int64 // of the trace
	SkippedCPUs int64 // events of CPUs with numbers that Perfetto refuses
	Lost        bool  // events are missing
}

// Convert writes a stream as a trace. Whatever ends the stream, the trace is well-formed; errors of the stream come
// back after all before them has been written.
func Convert(r *format.Reader, w io.Writer, options Options) (Summary, error) {
	c := conversion{r: r, e: NewEncoder(w, r, options)}
	r.OnSectionEnd(func(end *format.End) { c.closed = end.Close })
	c.e.System(r.Session())
	err := c.events()
	if closeErr := c.e.Close(c.windowEnd()); err == nil {
		err = closeErr
	}
	return Summary{Events: c.count, Bytes: c.e.written, SkippedCPUs: c.e.skipped, Lost: c.lost}, err
}

type conversion struct {
	r        *format.Reader
	e        *Encoder
	count    int64
	lost     bool
	sections int
	session  *format.Session // of the window that is open
	closed   int64           // when its section ended, as its end block tells
}

func (c *conversion) events() error {
	c.section()
	for {
		v, err := c.r.Next()
		if c.r.Sections() != c.sections {
			if err := c.section(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if all := c.r.Clocks(); len(all) != c.e.clocks {
			c.e.Clocks(all)
		}
		c.count++
		c.lost = c.lost || v.Kind == format.KindLost
		if err := c.e.Event(v); err != nil {
			return err
		}
	}
}

// section begins with the reader's current section: an epoch goes on in the same window, any other opens one.
func (c *conversion) section() error {
	s := c.r.Session()
	continues := c.session != nil && (s.Continues || s.Open == 0)
	closed := c.session != nil && !continues
	if closed {
		if err := c.e.Close(c.windowEnd()); err != nil {
			return err
		}
	}
	c.e.NewSection(s)
	c.e.Clocks(c.r.Clocks())
	if closed {
		c.e.NotRecorded(c.windowEnd(), windowStart(s))
	}
	if !continues {
		c.e.Open(windowStart(s), s)
	}
	c.sections = c.r.Sections()
	c.session, c.closed = s, 0
	return nil
}

// windowStart and windowEnd are the window of a session, narrowed to what a time filter kept. An end that is not
// known is 0.
func windowStart(s *format.Session) int64 { return max(s.Open, s.RangeStart) }

func (c *conversion) windowEnd() int64 {
	switch s := c.session; {
	case s.RangeEnd != 0 && (s.Close == 0 || s.RangeEnd < s.Close):
		return s.RangeEnd
	case s.Close != 0:
		return s.Close
	}
	return c.closed
}
