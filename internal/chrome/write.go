package chrome

import (
	"io"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/records"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// Write writes a stream as a trace. Whatever ends the stream, the trace is well-formed; errors of the stream come back
// after all before them has been written.
func Write(r *format.Reader, w io.Writer, o Options) (Result, error) {
	c := newConversion(r, newOutput(w), o)
	c.out.b = append(c.out.b, `{"traceEvents":[`+"\n"...)
	err := timeline.Visit(r, c)
	c.finish(&c.about.Session)
	if failed := c.out.close(); failed != nil {
		err = failed
	}
	done := Result{Events: c.count, Bytes: c.out.written, Lost: c.lost, Forgotten: c.spans.Timeline().Forgotten(), NotUTF8: c.texts.NotUTF8()}
	if done.NotUTF8 == "" {
		done.NotUTF8 = c.stacks.NotUTF8()
	}
	return done, err
}

// conversion is the [timeline.Visitor] that writes.
type conversion struct {
	options Options
	out     *output
	spans   *timeline.Spans
	stacks  *records.Stacks
	texts   records.Texts
	about   records.About
	first   int64 // when the first window opened
	count   int64
	last    int64 // time of the last event
	lost    bool

	tasks      tasks
	rows       threadRows
	cpus       cpus
	recording  recording
	tree       tree
	stackTexts *bounded.Map[format.StackID, *stackText] // of the current section
	noStack    stackText
	states     map[format.State]stateText
	kindNames  map[format.Kind]string
	plain      *tracks.Plain
	typed      *tracks.Typed
	arrowID    int64
	scratch    [24]byte
}

func newConversion(r *format.Reader, out *output, o Options) *conversion {
	c := &conversion{
		options: o, out: out, stacks: records.NewStacks(r), first: r.FirstOpen(), rows: newThreadRows(), tree: newTree(),
		recording: recording{until: make(map[int64]int64)}, stackTexts: bounded.NewMap[format.StackID, *stackText](maxKnown),
		states: make(map[format.State]stateText), kindNames: make(map[format.Kind]string), plain: tracks.NewPlain(), typed: tracks.NewTyped(r),
	}
	for _, k := range format.Kinds() {
		c.kindNames[k.Kind] = k.Name
	}
	c.tasks = tasks{r: r, texts: &c.texts}
	c.spans = timeline.NewSpans(r, c.span)
	return c
}

// NewSection implements [timeline.Visitor].
func (c *conversion) NewSection(s *format.Session) error {
	c.spans.NewSection(s)
	c.tasks.newSection()
	c.rows.newSection()
	c.typed.NewSection()
	c.stackTexts.Clear()
	c.cpus.describe(s)
	return c.out.flush()
}

// Open implements [timeline.Visitor].
func (c *conversion) Open(s *format.Session, at, before int64, isFirst bool) error {
	if !isFirst {
		c.notRecorded(before, at)
	}
	c.about.Open(s, at)
	for _, one := range s.Cpus {
		if !one.Offline {
			c.cpu(one.Id)
		}
	}
	c.spans.Open(at)
	return c.out.flush()
}

// Event implements [timeline.Visitor].
func (c *conversion) Event(v *format.Event) error {
	c.count++
	c.last = v.Time
	switch v.Kind {
	case format.KindWaking:
		stack, _ := v.Waking().Stack()
		c.woken(v, format.TaskID(v.Args[format.WakingWakee]), stack)
		return c.out.flush()
	case format.KindWakeupNew:
		stack, _ := v.WakeupNew().Stack()
		c.woken(v, format.TaskID(v.Args[format.WakeupNewWakee]), stack)
		return c.out.flush()
	}
	c.spans.Apply(v)
	switch v.Kind {
	case format.KindSwitch:
		c.preempted(v)
	case format.KindStateCPU, format.KindStateThread:
	case format.KindLost:
		c.lost = true
		c.lostEvents(v)
	default:
		c.happened(v)
	}
	return c.out.flush()
}

// Close implements [timeline.Visitor].
func (c *conversion) Close(at int64) error {
	c.spans.Close(at)
	c.drawAll(c.typed.Close(max(at, c.last)))
	c.about.Close(at)
	return c.out.flush()
}
