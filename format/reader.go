package format

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"google.golang.org/protobuf/proto"
)

// Reader reads the events of a stream in strict time order. It is used by one goroutine; another one reads, checks
// and decompresses blocks ahead.
type Reader struct {
	file    *fileInput // nil: a pipe
	input   *BlockReader
	ahead   *ahead
	skip    skipAfter
	decoder eventDecoder
	current *loaded // the block that decoder is in
	waiting *loaded // a block to be accepted after a lost event
	event   Event
	state   StateCheck
	checks  bool // check the block's events against the window, and against the rest of their state
	lost    Event
	held    bool // event is decoded and comes after lost
	err     error

	section   inSection
	sections  int
	lastReal  *Session // the last session that was read
	prevEnd   int64    // the time that the section of lastReal reached
	reached   int64    // the end of the windows so far: a section without its header does not begin before it
	firstOpen int64
	now       int64 // time of the last event
	hole      bool  // something is missing since the last event
	damage    Damage
	end       *End
	onEnd     []func(*End)
	onDone    []func()
	onNext    []func(*Session)
	unknown   int64
}

// NewReader reads the beginning of a stream. A regular file whose footers lead to its sections is checked at once:
// sections that cannot share a timeline, or need a newer version, are refused here and not in the middle.
func NewReader(r io.Reader) (*Reader, error) {
	file, err := asFile(r)
	if err != nil {
		return nil, err
	}
	out := &Reader{file: file, now: math.MinInt64, prevEnd: math.MinInt64, reached: math.MinInt64}
	out.decoder.layouts = newLayouts()
	if file != nil {
		if err := file.checkSections(); err != nil {
			return nil, err
		}
		out.open(file, 0)
	} else {
		out.input = NewBlockReader(r)
		out.input.skips = out.skip.skips
	}
	if err := out.begin(); err != nil {
		return nil, err
	}
	out.firstOpen = out.section.session.Open
	return out, nil
}

// begin reads up to the first header block. If that is lost, it reads on to the first events, because their time
// stands for the opening of the window then.
func (r *Reader) begin() error {
	for !r.section.begun || !r.section.real && r.section.session.Open == 0 {
		l := new(loaded)
		err := r.input.next(&l.Block)
		if errors.Is(err, io.EOF) {
			if r.section.begun {
				return nil
			}
			return r.input.NotStream()
		}
		if err != nil {
			return err
		}
		if _, err := r.accept(l); err != nil {
			return err
		}
	}
	return nil
}

// open reads on from a byte of the file.
func (r *Reader) open(file *fileInput, offset int64) {
	r.input = NewBlockReader(file.from(offset))
	r.input.base = offset
	r.input.skips = r.skip.skips
}

// Next returns the next event, or io.EOF. The event is valid until the next call. Where the stream is damaged, a
// lost event with cause damage stands for what is missing.
func (r *Reader) Next() (*Event, error) {
	if r.held {
		r.held = false
		return &r.event, nil
	}
	for {
		if r.decoder.left > 0 {
			ok, err := r.decoder.next(&r.event)
			if ok && (r.decoder.fault != "" || r.checks) {
				ok, err = r.isPossible(), nil
				if !ok {
					continue
				}
			}
			if ok {
				return r.deliver(), nil
			}
			if err != nil {
				r.damaged(fmt.Sprintf("at byte %d: an event block does not hold the events that it claims", r.current.Offset))
			}
		}
		if r.err != nil {
			return nil, r.err
		}
		e, err := r.advance()
		if err != nil {
			r.err = err
			r.stopAhead()
			return nil, err
		}
		if e != nil {
			return e, nil
		}
	}
}

// isPossible reports whether the event just decoded is possible. One that is not is damage.
func (r *Reader) isPossible() bool {
	problem, e := r.decoder.fault, &r.event
	r.decoder.fault = ""
	if s := r.section.session; problem == "" && r.section.real {
		switch end := s.WindowEnd(); {
		case e.Time < s.WindowStart():
			problem = "an event is before the window of its section"
		case end != 0 && e.Time > end:
			problem = "an event is after the window of its section"
		}
	}
	if problem == "" {
		d := r.Task(e.Task)
		if problem = r.state.Event(e, d.IsLost() || d.IsIdle()); problem == noState {
			problem = "" // the header is wrong, not the events
		}
	}
	if problem != "" {
		r.damaged(fmt.Sprintf("at byte %d: %s", r.current.Offset, problem))
	}
	return problem == ""
}

// deliver returns the event just decoded, or first the loss before it.
func (r *Reader) deliver() *Event {
	r.section.events++
	if r.hole {
		r.held = true
		e := r.lostUntil(r.event.Time)
		r.now = r.event.Time
		return e
	}
	r.now = r.event.Time
	return &r.event
}

// finishBlock counts what the decoder has skipped in the block that it has finished.
func (r *Reader) finishBlock() {
	unknown, hasTimes := r.decoder.done()
	r.section.events += uint64(unknown)
	r.unknown += unknown
	if hasTimes {
		r.damaged(fmt.Sprintf("at byte %d: an event block has more times than its events", r.current.Offset))
	}
}

// lostUntil closes a hole: a lost event from the last good event to t, within the window of the section. It returns nil
// if the window has closed before the last good event.
func (r *Reader) lostUntil(t int64) *Event {
	r.hole = false
	s := r.section.session
	end := s.WindowEnd()
	if end != 0 && end < r.now {
		return nil
	}
	t = max(t, s.WindowStart(), r.now)
	if end != 0 {
		t = min(t, end)
	}
	from := r.now
	if from == math.MinInt64 {
		from = min(t, r.firstOpen)
	}
	r.lost = Event{Time: t, Kind: KindLost, Flags: FlagSubject, CPU: AllCPUs}
	r.lost.Args[LostFrom] = uint64(from)
	r.lost.Args[LostCause] = uint64(CauseDamage)
	r.now = t
	return &r.lost
}

// advance takes the next block. It returns an event only for a loss that has to be reported first.
func (r *Reader) advance() (*Event, error) {
	r.finishBlock()
	l := r.waiting
	r.waiting = nil
	if l == nil {
		l = r.load()
	}
	if l.err != nil {
		return r.finish(l)
	}
	return r.accept(l)
}

// accept records what is missing before a block and handles it. A block that has to wait for a lost event is
// accepted again after it.
func (r *Reader) accept(l *loaded) (*Event, error) {
	r.countSkipped(l)
	return r.take(l)
}

func (r *Reader) countSkipped(l *loaded) {
	if l.Skipped == 0 {
		return
	}
	r.damage.Bytes += l.Skipped
	l.Skipped = 0
	r.damaged(l.Problem)
}

// load gives the last block back and waits for the next one.
func (r *Reader) load() *loaded {
	if r.ahead == nil {
		r.ahead = startAhead(r.input)
		r.current = nil // read at the beginning, not one of the reused blocks
	}
	if r.current != nil {
		r.ahead.free <- r.current
	}
	r.current = <-r.ahead.ready
	return r.current
}

// finish handles the end of the input.
func (r *Reader) finish(l *loaded) (*Event, error) {
	if !errors.Is(l.err, io.EOF) {
		return nil, l.err
	}
	r.countSkipped(l)
	if r.section.ended && r.expectsEpoch() {
		r.damage.Truncated = true
		r.damaged(NoLastEpoch)
	}
	if !r.section.ended && !r.damage.Truncated {
		r.damage.Truncated = true
		r.damaged("the stream stops before its end block")
		r.waiting = l
		return r.lostUntil(r.closeTime()), nil
	}
	r.sectionDone()
	return nil, io.EOF
}

// sectionDone reports that all definitions of the current section have been read.
func (r *Reader) sectionDone() {
	if !r.section.begun {
		return
	}
	for _, f := range r.onDone {
		f()
	}
}

// Problems of streams in which an end block contradicts the sections after it.
const (
	NoLastEpoch    = "the stream stops before the last epoch of its recording"
	NoNextEpoch    = "another session begins, but an epoch of the one before it should follow"
	EpochAfterLast = "an epoch of a session follows after its last one"
)

// expectsEpoch reports whether the section that has ended is not the last of its session.
func (r *Reader) expectsEpoch() bool { return r.section.real && r.end != nil && !r.end.Last }

// closeTime is when the section's window closed, as far as that is known: where it is not, at the last event, or at
// its opening if there is none.
func (r *Reader) closeTime() int64 {
	s := r.section.session
	if r.section.real {
		return max(s.WindowEnd(), s.WindowStart(), r.now)
	}
	return max(s.Open, r.now)
}

// take handles one block.
func (r *Reader) take(l *loaded) (*Event, error) {
	r.current = l
	if l.Header.Type == BlockHeaderType {
		return r.beginSection(l)
	}
	s := &r.section
	if !s.begun || s.ended || l.Header.Section != s.number {
		if problem := r.orphanProblem(&l.Header); problem != "" {
			r.damaged(fmt.Sprintf("at byte %d: %s", l.Offset, problem))
			return nil, nil
		}
		r.beginOrphan(l)
	}
	if l.Header.Sequence <= s.sequence {
		r.damaged(fmt.Sprintf("at byte %d: block %d of the section stands behind block %d", l.Offset, l.Header.Sequence, s.sequence))
		if !s.takesLate(&l.Header) {
			return nil, nil
		}
	} else {
		if missing := l.Header.Sequence - s.sequence - 1; missing > 0 {
			r.damage.Blocks += int64(missing)
			r.damaged(fmt.Sprintf("at byte %d: %d blocks before this one are missing", l.Offset, missing))
		}
		s.sequence = l.Header.Sequence
	}
	switch l.Header.Type {
	case BlockDefinitions:
		if err := s.defs.add(l.Payload); err != nil {
			r.damaged(fmt.Sprintf("at byte %d: %v", l.Offset, err))
		}
	case BlockEvents:
		r.beginEvents(l)
	case BlockEnd:
		return r.endSection(l)
	}
	return nil, nil
}

// orphanProblem returns why a block outside of any section cannot begin one; "": it can.
func (r *Reader) orphanProblem(h *BlockHeader) string {
	switch {
	case h.Type != BlockEvents && h.Type != BlockDefinitions:
		return "a block of a section whose beginning is missing"
	case h.Type == BlockEvents && h.First < max(r.now, r.reached):
		return "a block goes back in time"
	}
	return ""
}

func (r *Reader) beginEvents(l *loaded) {
	r.section.lastEvents = l.Header.Sequence
	if l.unread {
		r.section.events += uint64(l.Header.Events)
		return
	}
	if r.section.session.Open == 0 && !r.section.real {
		r.section.session.Open = l.Header.First
	}
	if l.Header.First < r.now {
		r.damaged(fmt.Sprintf("at byte %d: a block goes back in time", l.Offset))
		return
	}
	h, s := &l.Header, &r.section
	r.state.BeginBlock(h.Flags&BlockState != 0)
	end := s.session.WindowEnd()
	r.checks = h.Flags&BlockState != 0 || s.real && (h.First < s.session.WindowStart() || end != 0 && h.Last > end)
	r.decoder.newer = s.newer
	if err := r.decoder.start(h, l.Payload); err != nil {
		r.damaged(fmt.Sprintf("at byte %d: an event block does not hold the events that it claims", l.Offset))
	}
}

// beginSection handles a header block. A loss before it is reported first, while the section before it is still
// the current one; in an epoch of the same session, at the epoch's first event.
func (r *Reader) beginSection(l *loaded) (*Event, error) {
	version, session, err := parsePossibleSession(l.Payload)
	if errors.Is(err, ErrNewer) {
		return nil, err
	}
	if err != nil {
		r.damaged(fmt.Sprintf("at byte %d: %v", l.Offset, err))
		return nil, nil
	}
	s := &r.section
	if s.begun && !s.ended && s.real && proto.Equal(session, s.session) {
		r.damaged(fmt.Sprintf("at byte %d: the header of a section stands there again", l.Offset))
		return nil, nil
	}
	if s.begun && !s.ended && !r.hole {
		r.damaged(fmt.Sprintf("at byte %d: a section begins before the one before it has ended", l.Offset))
	}
	if r.hole && s.begun && !s.ended && s.real && session.Id != s.session.Id {
		s.ended = true
		r.waiting = l
		r.prevEnd = r.now
		return r.lostUntil(min(r.closeTime(), max(session.WindowStart(), r.now))), nil
	}
	if s.ended {
		if r.expectsEpoch() && !(session.Continues && session.Id == s.session.Id) {
			r.damaged(fmt.Sprintf("at byte %d: "+NoNextEpoch, l.Offset))
		}
		r.hole = false // the damage is between two whole sections
		if problem := r.epochProblem(session); problem != "" {
			r.damaged(fmt.Sprintf("at byte %d: %s", l.Offset, problem))
		}
	}
	if end := session.WindowEnd(); end != 0 && end < r.now && (!r.section.real || r.section.session.Id == session.Id) {
		r.damaged(fmt.Sprintf("at byte %d: a section goes back in time", l.Offset))
		return nil, nil
	}
	if r.lastReal != nil {
		if err := Follows(r.lastReal, session, r.prevEnd); err != nil {
			return nil, err
		}
	}
	r.lastReal, r.prevEnd = session, math.MinInt64
	r.enter(session, true, l.Header.Section)
	r.section.sequence = l.Header.Sequence
	r.section.newer = version.Minor > Minor
	return nil, nil
}

// epochProblem returns what is wrong with an epoch after the section that has ended; "": nothing. A filter leaves out the
// epochs before its time range, except for the first.
func (r *Reader) epochProblem(s *Session) string {
	before := r.section.session
	switch {
	case !r.section.real || !s.Continues || s.Id != before.Id:
		return ""
	case s.Epoch > before.Epoch+1 && s.RangeStart == 0:
		return fmt.Sprintf("epoch %d follows after epoch %d", s.Epoch, before.Epoch)
	}
	return ""
}

// beginOrphan enters a section whose header block is lost.
func (r *Reader) beginOrphan(l *loaded) {
	r.damaged(fmt.Sprintf("at byte %d: the header of a section is missing", l.Offset))
	r.enter(new(Session), false, l.Header.Section)
	r.section.sequence = l.Header.Sequence - 1
	r.section.newer = true
	r.damage.Blocks++
}

func (r *Reader) enter(s *Session, isReal bool, number uint32) {
	if r.section.begun {
		for _, f := range r.onNext {
			f(s)
		}
	}
	r.sectionDone()
	r.section = inSection{session: s, real: isReal, begun: true, number: number, holed: r.hole}
	r.section.defs.clocks = s.Clocks[:len(s.Clocks):len(s.Clocks)]
	r.sections++
}

// endSection handles an end block. If it counts as many events as were delivered, a hole before it held none.
func (r *Reader) endSection(l *loaded) (*Event, error) {
	end, _, err := ParseEndPayload(l.Payload)
	if err != nil {
		r.damaged(fmt.Sprintf("at byte %d: %v", l.Offset, err))
		return nil, nil
	}
	s := &r.section
	n := countEvents(end)
	if !s.holed {
		switch {
		case n != s.events:
			r.damaged(fmt.Sprintf("at byte %d: the end block counts %d events, but its section has %d", l.Offset, n, s.events))
		case end.Close != 0 && end.Close < r.now && n > 0:
			r.damaged(fmt.Sprintf("at byte %d: the section closes before its last event", l.Offset))
		}
	}
	if r.hole && n != s.events {
		s.sequence--
		r.waiting = l
		// The session's window and range are used only without a close: they may reach beyond an epoch.
		if end.Close != 0 {
			return r.lostUntil(end.Close), nil
		}
		return r.lostUntil(r.closeTime()), nil
	}
	r.hole = false
	s.ended = true
	if s.real {
		r.prevEnd = max(r.now, s.session.WindowEndOr(end.Close))
	}
	if end.Last {
		r.reached = max(r.now, s.session.WindowEndOr(end.Close))
	}
	r.end = end
	for _, f := range r.onEnd {
		f(end)
	}
	return nil, nil
}

func countEvents(e *End) uint64 {
	n := uint64(0)
	for _, k := range e.Kinds {
		n += k.Events
	}
	return n
}

// Session returns the session of the current section. If its header block is lost, it is nearly empty.
func (r *Reader) Session() *Session { return r.section.session }

// HeaderLost reports whether the header block of the current section is lost.
func (r *Reader) HeaderLost() bool { return !r.section.real }

// Sections returns the number of sections begun so far. When it changes after [Reader.Next], earlier ids are no longer
// valid.
func (r *Reader) Sections() int { return r.sections }

// Task returns the definition of a task in the current section, nil for 0 and for one that is lost.
func (r *Reader) Task(id TaskID) *Task { return r.section.defs.task(uint32(id)) }

// Stack returns the definition of a stack in the current section, nil for 0 and for one that is lost.
func (r *Reader) Stack(id StackID) *Stack { return r.section.defs.stack(uint32(id)) }

// Frame returns the definition of a frame in the current section, nil for 0 and for one that is lost.
func (r *Reader) Frame(id uint32) *Frame { return r.section.defs.frame(id) }

// Module returns the definition of a module in the current section, nil for 0 and for one that is lost.
func (r *Reader) Module(id uint32) *Module { return r.section.defs.module(id) }

// Command returns the definition of a command line in the current section, nil for 0 and for one that is lost.
func (r *Reader) Command(id uint32) *Command { return r.section.defs.command(id) }

// EventType returns the definition of an event type in the current section, nil for 0, for one that is lost and for one that this
// version cannot use.
func (r *Reader) EventType(id uint32) *EventType { return r.section.defs.eventType(id) }

// Text returns the definition of a text in the current section, nil for 0 and for one that is lost.
func (r *Reader) Text(id uint32) *Text { return r.section.defs.text(id) }

// Wait returns the definition of a wait in the current section, nil for 0 and for one that is lost.
func (r *Reader) Wait(id WaitID) *Wait { return r.section.defs.wait(uint32(id)) }

// Clocks returns the clock snapshots of the current section so far: its session's and those in definition blocks.
func (r *Reader) Clocks() []*ClockSnapshot { return r.section.defs.clocks }

// End returns the end block of the last section that ended; nil before.
func (r *Reader) End() *End { return r.end }

// OnSectionEnd sets a function that Next calls for each end block, in its place.
func (r *Reader) OnSectionEnd(f func(*End)) { r.onEnd = append(r.onEnd, f) }

// OnSectionDone sets a function that Next calls after all definitions of a section have been read: before the next section
// begins, and at the end of the stream.
func (r *Reader) OnSectionDone(f func()) { r.onDone = append(r.onDone, f) }

// OnNextSection sets a function that Next calls before another section begins, with the session of that one, while ids still have
// their meaning in the current section. It is called before the functions that [Reader.OnSectionDone] sets.
func (r *Reader) OnNextSection(f func(next *Session)) { r.onNext = append(r.onNext, f) }

// DefinitionMemory returns the memory that the definitions of the current section take, bytes.
func (r *Reader) DefinitionMemory() int { return r.section.defs.messages.size + 4*r.section.defs.count }

// StackIDs yields the ids of the stacks that the current section has defined so far, in order.
func (r *Reader) StackIDs() iter.Seq[uint32] { return r.section.defs.stacks.ids() }

// TaskIDs yields the ids of the tasks that the current section has defined so far, in order.
func (r *Reader) TaskIDs() iter.Seq[uint32] { return r.section.defs.tasks.ids() }

// FirstOpen returns when the window of the first section opened. Times are shown as distances from it.
func (r *Reader) FirstOpen() int64 { return r.firstOpen }

// Unknown returns the number of events skipped because their kind is unknown to this version.
func (r *Reader) Unknown() int64 { return r.unknown }

// SkipAfter makes the reader skip blocks whose events all begin at or after t; they are not decompressed.
func (r *Reader) SkipAfter(t int64) {
	r.skip.time.Store(t)
	r.skip.set.Store(true)
}

// SkipEvents makes the reader skip event payloads: event blocks are checked and not decompressed; definitions and end
// blocks are still read. It must be called before the first Next.
func (r *Reader) SkipEvents() {
	r.input.checksAll = true
	r.SkipAfter(math.MinInt64)
}

// Close stops reading ahead. It does not close the input, and does not wait for a read of a pipe to return.
func (r *Reader) Close() error {
	r.err = errors.New("read from a closed stream")
	r.decoder.left, r.held = 0, false
	r.stopAhead()
	return nil
}

// stopAhead stops the goroutine that reads ahead once its read returns. For files it waits for that, which takes no time.
func (r *Reader) stopAhead() {
	if r.ahead == nil {
		return
	}
	close(r.ahead.stop)
	if r.file != nil {
		<-r.ahead.done
	}
	r.ahead = nil
}
