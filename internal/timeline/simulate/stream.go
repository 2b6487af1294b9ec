package simulate

import (
	"bytes"
	"testing"

	"wprof/format"
)

// Stream returns the stream of a machine after a number of steps, with samples and stacks.
func Stream(t testing.TB, o Options, steps int) []byte {
	var b bytes.Buffer
	w := format.NewWriter(&b, format.WriterOptions{BlockBytes: 4096})
	New(o, newSampler(writing{t, w, o.Interrupts}, o.Seed)).Run(steps)
	return b.Bytes()
}

// writing writes the events of a machine as a stream.
type writing struct {
	t          testing.TB
	w          *format.Writer
	interrupts bool
}

func (c writing) check(err error) {
	if err != nil {
		c.t.Helper()
		c.t.Fatal(err)
	}
}

func (c writing) Begin(s *format.Session) {
	c.check(c.w.Begin(s))
	if c.interrupts {
		for _, t := range interruptTypes() {
			c.check(c.w.DefineType(t))
		}
	}
}

func (c writing) Define(d *format.Task) { c.check(c.w.DefineTask(d)) }
func (c writing) State()                { c.check(c.w.BeginState()) }
func (c writing) Event(e *format.Event) { c.check(c.w.Write(e)) }
func (c writing) End(e *format.End)     { c.check(c.w.EndSection(e)) }
