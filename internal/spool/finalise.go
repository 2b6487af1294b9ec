package spool

import (
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// bufferBytes is what the buffers of all rings may hold together; see [source].
const bufferBytes = 32 << 20

// finaliser reads a spool once, from its beginning to its end: the headers of a round's chunks, then the records that
// this round makes certain.
type finaliser struct {
	spool   *Spool
	options Options
	scan    scanner
	rings   []*source
	tasks   *source
	merge   merger
	out     *stream
	apply   *applier

	first   *generation // the first of those in the file
	open    int64       // when the window opened; 0: not known yet
	opened  bool        // the stream has begun
	end     int64       // no record after this is part of the recording
	tail    *Tail
	round   int64 // time of the last round
	newest  int64 // time of the last task that was listed before the first round
	listing bool  // the chunk before was part of a list
	punched int64
}

// Finalise writes the stream.
func (s *Spool) Finalise(w *format.Writer, o Options) (Summary, error) {
	if o.Live {
		if s.live == nil {
			return Summary{}, errors.New("finalise the spool while it is written: nobody writes it")
		}
		s.live.reading.Lock()
		defer s.live.reading.Unlock()
		if s.live.closed {
			return Summary{}, errors.New("finalise the spool: it is closed")
		}
	} else if s.live != nil {
		return Summary{}, errors.New("finalise the spool: it has not ended")
	}
	return newFinaliser(s, w, o).run()
}

func (f *finaliser) run() (Summary, error) {
	for {
		more, err := f.step()
		if err != nil {
			return f.summary(), err
		}
		if !more {
			err := f.finish()
			return f.summary(), err
		}
	}
}

func newFinaliser(s *Spool, w *format.Writer, o Options) *finaliser {
	f := &finaliser{spool: s, options: o, first: s.first, end: never - 1, tail: s.tail}
	f.scan = scanner{r: s.r, limit: s.limit, damage: &s.damage}
	s.damage.Bad = 0 // what Open has counted is counted again
	if !o.Live {
		f.end = s.end()
	}
	sizes := recordSizes()
	rings := int(s.first.rings)
	room := max(bufferBytes/max(rings, 1), 2*pieceBytes(rings))
	add := func(index int) *source {
		src := &source{r: s.r, index: index, room: min(room, 1<<20), sizes: sizes, damage: &s.damage, mark: math.MinInt64, bound: math.MinInt64, newest: math.MinInt64}
		// The rings of a recording begin at 0; those of a later generation anywhere.
		src.seen = s.first.first
		f.merge.sources = append(f.merge.sources, src)
		return src
	}
	for i := range rings {
		f.rings = append(f.rings, add(i))
	}
	f.tasks = add(rings)
	f.tasks.tasks, f.tasks.mark = true, never

	r := newRoster(s.first.recorderPID)
	f.out = &stream{
		w: w, roster: r, states: !s.first.noSched, live: o.Live, from: never, due: never, full: format.EpochBytes,
		session: proto.Clone(s.first.session).(*format.Session),
	}
	f.out.summary.LostByCause = make(map[format.Cause]uint64)
	f.apply = newApplier(r, f.tasks, f.out)
	return f
}

// end is the time of the end of the recording, as far as the file tells.
func (s *Spool) end() int64 {
	if s.tail != nil {
		return s.tail.Close
	}
	return s.close
}

// step goes on by one round. It returns false at the end.
func (f *finaliser) step() (bool, error) {
	ended := true
	if f.options.Live {
		ended = f.spool.live.ended.Load()
		f.scan.limit = f.spool.live.whole.Load()
	}
	round, err := f.scanRound()
	if err != nil {
		return false, err
	}
	if !round {
		if ended {
			return false, nil
		}
		if err := f.flush(); err != nil {
			return false, err
		}
		<-f.spool.live.grown
		return true, nil
	}
	if f.options.Progress != nil {
		total := f.scan.limit
		if f.options.Live {
			total = 0
		}
		f.options.Progress(f.scan.next, total)
	}
	if err := f.until(min(f.watermark(), f.end+1)); err != nil {
		return false, err
	}
	if f.options.Live && f.spool.punch {
		f.punchHoles()
	}
	return true, nil
}

// watermark is the time before which every record has been read from its ring.
func (f *finaliser) watermark() int64 {
	w := int64(never)
	for _, s := range f.rings {
		w = min(w, s.mark)
	}
	return w
}

// until takes the records before a time.
func (f *finaliser) until(limit int64) error {
	if err := f.merge.until(limit, f.take); err != nil {
		return err
	}
	if limit > f.out.due {
		return f.reach(limit - 1)
	}
	return nil
}

func (f *finaliser) take(record []byte, at int64) error {
	if at >= f.out.due {
		if err := f.reach(at); err != nil {
			return err
		}
	}
	return f.apply.apply(record, at)
}

// reach does what is due at or before a time: open the window, write a state, begin an epoch.
func (f *finaliser) reach(at int64) error {
	if !f.opened {
		f.opened = true
		f.apply.idleElsewhere(f.out.session.Cpus)
		end := f.end
		if f.options.Live {
			end = 0
		}
		if err := f.out.begin(f.open, end); err != nil {
			return err
		}
	}
	return f.out.reach(at)
}

// flush hands what there is to a reader that waits.
func (f *finaliser) flush() error {
	if !f.opened {
		return nil
	}
	return f.out.w.Flush()
}

// punchAtOnce is how much is given back with one call.
const punchAtOnce = 4 << 20

// punchHoles gives back the disk space of what is done.
func (f *finaliser) punchHoles() {
	done := f.scan.next
	for _, s := range f.merge.sources {
		done = min(done, s.offset(f.scan.next))
	}
	// keep is read after done: Cut sets it before it writes what done could have passed.
	done = min(done, f.spool.live.keep.Load()) &^ (64<<10 - 1)
	if done-f.punched >= punchAtOnce {
		punch(f.spool.file, f.punched, done-f.punched)
		f.punched = done
	}
}

// scanRound looks at the chunks up to the end of the next round. It returns false when no whole round is left.
func (f *finaliser) scanRound() (bool, error) {
	for {
		c, err := f.scan.chunk()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		begins := !f.listing
		f.listing = c.typ == chunkTasks
		switch c.typ {
		case chunkRing:
			if int(c.ring) < len(f.rings) && int(c.length) <= pieceBytes(len(f.rings)) {
				f.rings[c.ring].append(&c)
			}
		case chunkTasks:
			if c.length <= taskChunk {
				f.tasks.appendList(&c, begins)
			}
			err = f.listedUntil(&c)
		case chunkRound:
			var is bool
			if is, err = f.endRound(&c); is && err == nil {
				return true, nil
			}
		case chunkClocks:
			err = f.clocks(&c)
		case chunkEnd:
			err = f.ended(&c)
		}
		if err != nil {
			return false, err
		}
	}
}

// endRound notes which records a round makes certain. A round that is there a second time makes none.
func (f *finaliser) endRound(c *chunk) (bool, error) {
	time := int64(c.position)
	if time <= f.round || int(c.length) != roundBytes(len(f.rings)) {
		return false, nil
	}
	b, err := f.scan.read(c)
	if err != nil || b == nil {
		return false, err
	}
	f.round = time
	for i, s := range f.rings {
		producer, drained := roundPositions(b, i)
		s.reach(drained)
		s.roundEnded(time, producer, drained)
	}
	f.openAt(roundOpen(b))
	return true, nil
}

// openAt takes the time at which the window opened; 0: it has not. If the file begins with a later generation, nothing
// is known of what was before that. When all its tasks are listed, everybody is known.
func (f *finaliser) openAt(at int64) {
	if f.open != 0 || at <= 0 {
		return
	}
	if !f.first.first {
		at = max(at, f.newest+1, f.round)
	}
	f.open = min(at, f.end)
	f.out.due = f.open
}

// listedUntil notes when the first list of a generation was complete.
func (f *finaliser) listedUntil(c *chunk) error {
	if f.first.first || f.open != 0 || c.length < taskSize {
		return nil
	}
	b, err := f.scan.read(c)
	if err != nil || b == nil {
		return err
	}
	for ; len(b) >= taskSize; b = b[taskSize:] {
		f.newest = max(f.newest, recordTime(b))
	}
	return nil
}

func (f *finaliser) clocks(c *chunk) error {
	b, err := f.scan.read(c)
	if err != nil || b == nil {
		return err
	}
	clocks := new(format.ClockSnapshot)
	if err := proto.Unmarshal(b, clocks); err != nil {
		f.spool.damage.Bad += chunkHeaderSize + int64(c.length)
		return nil
	}
	if last := f.out.clocks; last != nil && clocks.Monotonic <= last.Monotonic {
		return nil // it is there a second time
	}
	f.out.clocks = clocks
	if f.opened {
		return f.out.w.Define(&format.Definitions{Clocks: []*format.ClockSnapshot{clocks}})
	}
	f.out.session.Clocks = append(f.out.session.Clocks, clocks)
	return nil
}

// ended takes the tail of a live recording; that of a finished one is known from the beginning.
func (f *finaliser) ended(c *chunk) error {
	if f.tail != nil {
		f.openAt(f.spool.open)
		return nil
	}
	b, err := f.scan.read(c)
	if err != nil || b == nil {
		return err
	}
	open, tail, err := parseTail(b)
	if err != nil {
		return err
	}
	f.tail = tail
	f.openAt(open)
	return nil
}

// finish takes what is left, tells what is still open, and ends the stream.
func (f *finaliser) finish() error {
	if f.open == 0 {
		return errors.New("finalise the spool: the recording was cut off before its window opened")
	}
	end := f.endTime()
	f.end = end
	held := f.held(end)
	for _, s := range f.rings {
		s.mark = never
	}
	if err := f.until(end + 1); err != nil {
		return err
	}
	if err := f.tellMissing(held, end); err != nil {
		return err
	}
	if err := f.out.state(end, true); err != nil {
		return err
	}
	var clocks *format.ClockSnapshot
	if f.tail != nil {
		clocks = f.tail.Clocks
	}
	return f.out.finish(end, f.cost(), clocks)
}

// endTime is when the window closed. The window of a live stream cannot close before what is already written.
func (f *finaliser) endTime() int64 {
	end := f.round
	if f.tail != nil {
		end = f.tail.Close
	}
	if f.opened {
		end = max(end, f.out.last)
	}
	return max(end, f.open)
}

// held is from when on records are missing because they stood behind one that was still being written when draining
// ended.
func (f *finaliser) held(end int64) int64 {
	for _, s := range f.rings {
		if len(s.waits) > 0 {
			end = min(end, s.mark)
		}
	}
	return end
}

// tellMissing tells of losses that no record stands behind.
func (f *finaliser) tellMissing(held, end int64) error {
	if f.tail == nil {
		f.spool.damage.Cut = true
	}
	for _, s := range f.rings {
		if s.gap {
			if err := f.apply.applyGap(s.newest, end); err != nil {
				return err
			}
		}
	}
	if held < end {
		if err := f.apply.applyGap(held, end); err != nil {
			return err
		}
	}
	if f.tail == nil {
		return nil
	}
	for i := range f.tail.Losses {
		l := &f.tail.Losses[i]
		if l.Kind == format.KindSwitch || l.Kind == 0 {
			f.apply.lost(l.CPU, end)
		}
		if err := f.out.lost(end, l); err != nil {
			return err
		}
	}
	return nil
}

func (f *finaliser) cost() *format.RecorderCost {
	cost := new(format.RecorderCost)
	if f.options.Cost != nil {
		if c := f.options.Cost(); c != nil {
			cost = c
		}
	}
	if cost.SpoolBytes == 0 {
		cost.SpoolBytes = uint64(f.scan.limit)
	}
	if len(cost.Programs) == 0 && f.tail != nil {
		cost.Programs = f.tail.Programs
	}
	return cost
}

func (f *finaliser) summary() Summary {
	s := f.out.summary
	s.Events = make(map[format.Kind]uint64)
	for kind, n := range f.out.counts {
		if n > 0 {
			s.Events[format.Kind(kind)] = n
		}
	}
	s.Damage = f.spool.Damage()
	return s
}
