package ndjson

import (
	"io"
	"sync"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/records"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// flushEvery bounds how long an event of a live stream waits for others.
const flushEvery = 25 * time.Millisecond

// flushBytes is how much of header and stacks is written at once.
const flushBytes = 256 << 10

// Result sums up what was written.
type Result struct {
	Events         int64
	DroppedThreads int64          // see [timeline.Timeline]
	Lost           bool           // events are missing
	DroppedStacks  int64          // stacks of switches that were left out
	NotUTF8        string         // the first text that was not valid UTF-8, as shown; "": none
	Damage         *format.Damage // nil if the input was whole
}

// Write writes a stream that can be read again and again: open begins at its first byte. Whatever ends the stream, the
// output is complete up to there; errors of the stream come back after that.
func Write(open func() (*format.Reader, error), w io.Writer, o Options) (Result, error) {
	found, err := takeSurvey(open)
	if err != nil {
		return Result{}, err
	}
	r, err := open()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	l := newLayout(&o, records.Nodes(r.Session()))
	h := newHeader(&found.Session, found.Window(r.FirstOpen()), &o, l)
	if found.lostKnown {
		h.Lost = &found.lost
	}
	count := found.stacks
	if o.NoStacks {
		count = 0
	}
	h.StackCount = &count
	if err := writeHeader(w, l, &o, &h); err != nil {
		return Result{}, err
	}
	if !o.NoStacks && count > 0 {
		if err := writeStacks(open, found.lostKnown, w, l, o.Python); err != nil {
			return Result{}, err
		}
	}
	var left *records.LeftStacks
	if o.PrevStack && !o.NoStacks {
		if left, err = collectLeftStacks(open); err != nil {
			return Result{}, err
		}
	}
	e := events{l: l, w: newWriter(w, l), left: left}
	result, err := e.visit(r, w, &o)
	if left != nil {
		result.DroppedStacks = left.Dropped
	}
	return result, err
}

// Stream writes a stream while it arrives. Its header has what the first section's header contains; isOne: no other recording
// follows.
func Stream(r *format.Reader, w io.Writer, o Options, isLive, isOne bool) (Result, error) {
	l := newLayout(&o, records.Nodes(r.Session()))
	s := r.Session()
	var about records.About
	about.Open(s, s.WindowStart())
	about.Close(s.WindowEnd())
	window := about.Window(r.FirstOpen())
	window.Closed = window.Closed && isOne
	h := newHeader(&about.Session, window, &o, l)
	if err := writeHeader(w, l, &o, &h); err != nil {
		return Result{}, err
	}
	e := events{l: l, w: newWriter(w, l), written: make(map[int64]struct{})}
	e.lines.l = l
	if isLive {
		defer e.flushPeriodically()()
	}
	return e.visit(r, w, &o)
}

// collectLeftStacks reads the stacks with which threads leave their CPUs.
func collectLeftStacks(open func() (*format.Reader, error)) (*records.LeftStacks, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	left, err := records.CollectLeftStacks(r)
	if cli.EndsWell(err) {
		err = nil
	}
	return left, err
}

func writeHeader(w io.Writer, l *layout, o *Options, h *header) error {
	before := ""
	if o.Array {
		before = "["
	}
	line, err := l.line(nil, before, h)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// writeStacks writes a line for every stack that the stream defines.
func writeStacks(open func() (*format.Reader, error), skip bool, w io.Writer, l *layout, python stacks.PythonView) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	if skip {
		r.SkipEvents()
	}
	all := records.NewStacks(r, python)
	lines := stackLines{l: l}
	var out []byte
	var failed error
	all.OnSectionDone(func() {
		for stack := range all.All() {
			if out, failed = lines.append(out, stack); failed != nil {
				return
			}
			if len(out) >= flushBytes {
				if _, failed = w.Write(out); failed != nil {
					return
				}
				out = out[:0]
			}
		}
	})
	if err := drain(r); err != nil {
		return err
	}
	if failed == nil {
		_, failed = w.Write(out)
	}
	return failed
}

// events writes the events of a stream.
type events struct {
	l       *layout
	w       *writer
	maker   *records.Maker
	left    *records.LeftStacks // nil: the stack of a switch is that of the next thread
	lines   stackLines
	written map[int64]struct{} // stacks of the current section that have a line; nil: all of them
	text    []byte
	count   int64

	mu     sync.Mutex // held while an event is taken, if the stream is live
	isLive bool
}

func (e *events) visit(r *format.Reader, w io.Writer, o *Options) (Result, error) {
	e.maker = records.NewMaker(r, records.Options{Kinds: o.Kinds, JSON: true, Cgroups: o.Cgroups, LeftStacks: e.left, Python: o.Python}, e.put)
	err := timeline.Visit(r, e)
	e.lock()
	if closeErr := e.w.close(); err == nil {
		err = closeErr
	}
	e.unlock()
	if o.Array {
		if _, endErr := io.WriteString(w, "\n]\n"); err == nil {
			err = endErr
		}
	}
	return Result{Events: e.count, Lost: e.maker.Lost(), DroppedThreads: e.maker.DroppedThreads(), NotUTF8: e.maker.NotUTF8(), Damage: r.Damage()}, err
}

// put writes a record, preceded by its stacks if they have no line yet.
func (e *events) put(r *records.Record) error {
	e.count++
	if e.written != nil {
		if err := e.writeStacksOf(r); err != nil {
			return err
		}
	}
	return e.w.put(r)
}

func (e *events) writeStacksOf(r *records.Record) error {
	for _, f := range e.l.kinds[r.Kind].stacks {
		if r.Has&f.bit == 0 {
			continue
		}
		if err := e.writeStack(r.Values[f.slot]); err != nil {
			return err
		}
	}
	if !e.l.argStacks {
		return nil
	}
	return e.writeArgStacks(r.Args)
}

// writeArgStacks writes the stacks that values of a typed event refer to.
func (e *events) writeArgStacks(args []records.Arg) error {
	for i := range args {
		var err error
		if a := &args[i]; a.List {
			err = e.writeArgStacks(a.Elements)
		} else if a.Type == format.ValueType_VALUE_STACK {
			err = e.writeStack(int64(a.Number))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *events) writeStack(id int64) error {
	if _, has := e.written[id]; has {
		return nil
	}
	stack := e.maker.Stacks().Get(id)
	if stack == nil {
		return nil
	}
	var err error
	if e.text, err = e.lines.append(e.text[:0], stack); err != nil {
		return err
	}
	if err := e.w.putLine(e.text); err != nil {
		return err
	}
	e.written[id] = struct{}{}
	return nil
}

// NewSection implements [timeline.Visitor].
func (e *events) NewSection(s *format.Session) error {
	e.lock()
	defer e.unlock()
	clear(e.written)
	return e.maker.NewSection(s)
}

// Open implements [timeline.Visitor].
func (e *events) Open(s *format.Session, at, before int64, isFirst bool) error {
	e.lock()
	defer e.unlock()
	return e.maker.Open(s, at, before, isFirst)
}

// Event implements [timeline.Visitor].
func (e *events) Event(v *format.Event) error {
	if !e.isLive {
		return e.maker.Event(v)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.maker.Event(v)
}

// Close implements [timeline.Visitor].
func (e *events) Close(at int64) error {
	e.lock()
	defer e.unlock()
	return e.maker.Close(at)
}

func (e *events) lock() {
	if e.isLive {
		e.mu.Lock()
	}
}

func (e *events) unlock() {
	if e.isLive {
		e.mu.Unlock()
	}
}

// flushPeriodically writes what has arrived also when nothing follows, until stop is called.
func (e *events) flushPeriodically() (stop func()) {
	e.isLive = true
	ended, ending := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-ending:
				return
			case <-tick.C:
				e.mu.Lock()
				e.w.flush()
				e.mu.Unlock()
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
	}
}
