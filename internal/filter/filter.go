package filter

import (
	"cmp"
	"errors"
	"io"
	"math"
	"sync"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/timeline"
)

// afterEnd is how far beyond the end of the time range a pipe is read, for losses that began inside it.
const afterEnd = int64(1e9)

// phase is the position of the stream relative to the time range.
type phase uint8

const (
	before phase = iota // nothing is written yet
	inside
	beyond // the end of the range has passed; spans that reach back into it are still written
	done
)

// Filter is one pass over a stream.
type Filter struct {
	o      Options
	in     io.Reader
	input  *stoppable // in, if it is a pipe and the range has an end
	r      *format.Reader
	defs   definitions // of what is written: those of r, or with Options.Around those of the whole section
	w      *format.Writer
	tl     *timeline.Timeline
	usage  *timeline.Usage
	family *family // nil without --children

	idFields [format.MaxKind + 1]idFields

	phase      phase
	start, end int64         // the range; end is excluded
	around     *surroundings // nil without Options.Around
	isPipe     bool

	mu         sync.Mutex // of the output, on a live stream
	section    int        // number of the input's section that the output is in
	begun      bool       // the output's section has begun
	first      *format.Session
	written    *format.Session // of the output's last section
	headerLost bool            // the header of that section was lost
	session    *format.Session // of the input, in this section
	opens      int64           // when the range of the output's section begins
	closes     int64           // when it ends; 0: that is not known
	wrote      int64           // time of the last event of the output
	sources    map[uint64]bool // of samples, that the output's session lists
	clocks     int             // how many of the input's snapshots the output has
	defined    defined
	values     []format.Value    // of the current typed event
	named      int64             // bytes of named frames in the section
	ending     *format.End       // of the output's last section, as long as an epoch may follow
	endingID   uint64            // of the session that it ends
	endedLast  bool              // it is the last of its session
	closed     int64             // when it closed
	losses     format.LossCounts // that events of the output's section report
	stateAt    int64             // with stateBegins: a state begins, and none of its events was kept so far
	stateNext  bool
	endWritten bool  // the state at the end of the range
	last       int64 // time of the last event that was read
	result     Result
	rejected   *format.Damage // impossible definitions and events; nil: none
	failed     error          // of a callback that cannot return it
	unknownAll bool           // whether threads whose definitions are lost are kept

	// The stacks of threads that are off-CPU at the end of the range, from events after it.
	waits map[timeline.Key]openWait

	counting countedCPUs
}

// New reads the beginning of a stream. Nothing is written before Run.
func New(in io.Reader, out io.Writer, isPipe bool, o Options) (*Filter, error) {
	f := &Filter{o: o, in: in, isPipe: isPipe, start: math.MinInt64, end: math.MaxInt64, last: math.MinInt64, wrote: math.MinInt64, idFields: idFieldsOfKinds()}
	if isPipe && o.End.set {
		f.input = newStoppable(in)
		f.in = f.input
	}
	r, err := format.NewReader(f.in)
	if err != nil {
		f.close()
		return nil, err
	}
	f.r, f.defs = r, r
	if o.Around != nil {
		if f.around, err = newSurroundings(in, o.Around); err != nil {
			f.close()
			return nil, err
		}
	}
	if err := f.setRange(); err != nil {
		f.close()
		return nil, err
	}
	f.first = r.Session()
	f.w = format.NewWriter(out, format.WriterOptions{Level: o.Level, Live: f.live()})
	f.tl, f.usage = timeline.New(r), timeline.NewUsage(r)
	f.unknownAll = !o.Threads.allows()
	if o.Threads.Children {
		f.family = newFamily(&f.o.Threads)
	}
	r.OnSectionEnd(func(e *format.End) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = errors.Join(f.failed, f.sectionEnd(e))
	})
	return f, nil
}

// Session is that of the input's first section.
func (f *Filter) Session() *format.Session { return f.first }

func (f *Filter) close() {
	if f.r != nil {
		f.r.Close()
	}
	if f.input != nil {
		f.input.Close()
	}
}

// setRange resolves the range. A start that is not after the opening of the window has no effect.
func (f *Filter) setRange() error {
	s, open := f.r.Session(), f.r.FirstOpen()
	f.phase = inside
	if f.around != nil {
		f.enterStretch(max(open, s.RangeStart))
		return nil
	}
	var err error
	if f.o.Start.set {
		if f.start, err = f.o.Start.resolve(open, f.r.Clocks()); err != nil {
			return err
		}
		if f.start > max(open, s.RangeStart) {
			f.phase = before
		}
	}
	if f.o.End.set {
		if f.end, err = f.o.End.resolve(open, f.r.Clocks()); err != nil {
			return err
		}
	}
	if f.o.Start.set && f.o.End.set && f.start >= f.end {
		return errEmptyRange(cmp.Or(f.o.start, "--start"), cmp.Or(f.o.end, "--end"))
	}
	return nil
}

func errEmptyRange(start, end string) error {
	return cli.Usagef("%s is not before %s: the time range is empty", start, end)
}

// live reports whether the window is still open.
func (f *Filter) live() bool { return f.isPipe && f.first.Close == 0 }

// Run filters the whole stream. Even if it returns an error of the input, the output is complete up to there.
func (f *Filter) Run() (Result, error) {
	defer f.close()
	err := f.begin()
	if err == nil {
		if f.live() {
			err = f.runLive()
		} else {
			err = f.runAll()
		}
	}
	f.result.Damage = f.r.Damage()
	f.result.DroppedThreads = f.tl.DroppedThreads()
	if f.family != nil {
		f.result.Unrelated = f.family.members.Dropped()
	}
	if d := f.result.Damage; d != nil && f.stopped() && d.Holes <= 1 && d.Blocks == 0 {
		f.result.Damage = nil // the filter itself cut the input
	}
	if f.result.Damage == nil {
		f.result.Damage = f.rejected
	}
	f.result.NotFound = f.around != nil && len(f.around.plan.Stretches) == 0
	if f.around != nil && f.result.Damage == nil {
		f.result.Damage = f.around.plan.Damage // behind the last stretch
	}
	return f.result, err
}

// stopped reports whether the filter itself ended the input.
func (f *Filter) stopped() bool { return f.input != nil && f.input.stopped.Load() }

func (f *Filter) runAll() error {
	for {
		e, err := f.r.Next()
		if finished, err := f.step(e, err); finished {
			return err
		}
	}
}

// begin writes the first header and jumps to the start of the range if possible. With --children the part before must
// be read for the ancestry of processes.
func (f *Filter) begin() error {
	if err := f.enterSection(); err != nil {
		return err
	}
	if f.phase != before || f.isPipe || f.family != nil {
		return nil
	}
	if err := f.r.SeekTime(f.start); err != nil {
		return err
	}
	if f.around != nil {
		f.session = nil
		return f.enterSection()
	}
	if s := f.r.Session(); s.Id != f.first.Id || s.Epoch != f.first.Epoch || s.Open != f.first.Open {
		if err := f.endSection(f.firstEnd()); err != nil {
			return err
		}
		return f.enterSection()
	}
	f.section = f.r.Sections()
	return nil
}

// firstEnd is the end block of the first section, which was jumped over.
func (f *Filter) firstEnd() *format.End {
	if file, ok := f.in.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if size, err := file.Seek(0, io.SeekEnd); err == nil {
			if all, err := format.ReadSummary(file, size); err == nil && all[0].End != nil {
				return all[0].End
			}
		}
	}
	return &format.End{Close: f.first.Open}
}

// step handles what Next returned. finished reports whether that was all.
func (f *Filter) step(e *format.Event, err error) (finished bool, _ error) {
	switch {
	case f.failed != nil:
		return true, f.failed
	case f.phase == done:
		return true, f.finish()
	case f.stopped():
		return true, f.stop()
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			return true, f.finish()
		}
		return true, errors.Join(err, f.finish())
	}
	if f.section != f.r.Sections() {
		if err := f.nextSection(); err != nil {
			return true, err
		}
		if f.phase == done {
			return true, f.finish()
		}
	}
	if err := f.event(e); err != nil {
		return true, err
	}
	if f.phase == done {
		return true, f.finish()
	}
	return false, nil
}

// event handles an event by its position relative to the range.
func (f *Filter) event(e *format.Event) error {
	f.last = e.Time
	if f.around != nil {
		if err := f.endStretches(func() bool { return e.Time >= f.end }); err != nil || f.phase == done {
			return err
		}
	}
	if e.Time >= f.end {
		return f.eventBeyond(e)
	}
	if f.phase == before && e.Time >= f.start {
		if err := f.enterRange(e.Time == f.start && f.r.BeginsState()); err != nil {
			return err
		}
	}
	if f.r.BeginsState() {
		f.stateNext, f.stateAt = true, e.Time
	}
	if f.phase == inside && e.Kind != format.KindLost {
		f.result.Read++
	}
	err := f.filter(e)
	f.counting.note(e)
	return err
}
