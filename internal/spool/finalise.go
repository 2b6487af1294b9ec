package spool

import (
	"errors"
	"math"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sideband"
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
	side    *source
	merge   merger
	out     *stream
	apply   *applier
	taker   sideTaker

	first   *generation // the first of those in the file
	open    int64       // when the window opened; 0: not known yet
	opened  bool        // the stream has begun
	end     int64       // no record after this is part of the recording
	tail    *Tail
	round   int64 // time of the last round
	taken   int64 // time of the last record that was taken before the opening was known
	newest  int64 // time of the last task that was listed before the opening
	listed  listing
	punched int64
	blocked []chunk // lists of threads that are blocked at the end
}

// Finalise writes the stream.
func (s *Spool) Finalise(w *format.Writer, o Options) (Summary, error) {
	o.Live = o.Live && s.live != nil // a short recording may have ended before
	if o.Live {
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
	if f.options.Live {
		defer f.apply.code.listen()()
	} else if err := f.gather(); err != nil {
		return f.summary(), err
	}
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
	piece := pieceBytes(rings)
	// A piece grows when its packed records are unpacked.
	room := max(bufferBytes/max(rings, 1)-piece*ringdata.MaxWhole/ringdata.MinPacked, piece)
	add := func(index int) *source {
		src := &source{r: s.r, index: index, room: min(room, 1<<20), sizes: sizes, damage: &s.damage, mark: math.MinInt64, bound: math.MinInt64, newest: math.MinInt64, take: f.take}
		// The rings of a recording begin at 0; those of a later generation anywhere.
		src.seen = s.first.first
		src.early = func(b []byte) { f.apply.code.told.keep(b) }
		f.merge.sources = append(f.merge.sources, src)
		return src
	}
	scratch := new([]byte)
	for i := range rings {
		ring := add(i)
		ring.decoder.CPU, ring.scratch = uint16(i), scratch
		f.rings = append(f.rings, ring)
	}
	f.tasks = add(rings)
	f.tasks.tasks, f.tasks.mark = true, never
	// A mapping is known to samples of the same time.
	f.side = add(-1)
	f.side.side, f.side.take = true, f.takeSide

	r := newRoster(s.first.recorderPID)
	f.out = &stream{
		w: w, roster: r, states: !s.first.noSched, live: o.Live, from: never, due: never, full: format.EpochBytes,
		session: proto.Clone(s.first.session).(*format.Session),
	}
	f.out.summary.LostByCause = make(map[format.Cause]uint64)
	f.apply = newApplier(r, f.tasks, f.out)
	f.apply.offCPUMin, f.apply.readAhead = s.first.offCPUMin, f.merge.readAhead
	f.taker = sideTaker{applier: f.apply, tables: sideband.NewTables()}
	f.apply.code = newCode(f.out, f.taker.tables, func() kernelCode { return readKernelCode(s) }, &f.options)
	f.apply.code.told.rotated = r.keepBlocked
	f.out.stackOf = f.apply.code.stackOf
	return f
}

// end is the time of the end of the recording, as far as the file tells.
func (s *Spool) end() int64 {
	if s.tail != nil {
		return min(s.tail.Close, never-1)
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
	f.apply.code.answered()
	if f.options.Live && f.spool.punch {
		f.apply.code.loadKernel() // before its place in the file is given back
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
	reached, err := f.merge.until(limit, f.watermark())
	if err != nil {
		return err
	}
	if reached > f.out.due {
		return f.reach(reached - 1)
	}
	return nil
}

func (f *finaliser) take(record []byte, at int64) error {
	if f.open == 0 {
		f.taken = at
	}
	if at >= f.out.due {
		if err := f.reach(at); err != nil {
			return err
		}
	}
	if f.apply.threads.known > maxThreads {
		f.apply.dropped += f.apply.dropOldest()
	}
	if n := f.apply.dropped; n > 0 && f.opened {
		f.apply.dropped = 0
		if err := f.out.lost(at, &Loss{CPU: format.AllCPUs, From: at, Cause: format.CauseDefinition, Count: n}); err != nil {
			return err
		}
	}
	return f.apply.apply(record, at)
}

// takeSide takes a side-band record, and before it tells of those that are missing.
func (f *finaliser) takeSide(record []byte, at int64) error {
	if at >= f.out.due {
		if err := f.reach(at); err != nil {
			return err
		}
	}
	for len(f.side.gaps) > 0 && f.side.gaps[0].to <= at {
		g := f.side.gaps[0]
		f.side.gaps = f.side.gaps[1:]
		if err := f.taker.missing(g, at); err != nil {
			return err
		}
	}
	return f.taker.take(record, at)
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
		f.spool.live.copies.around(f.punched, done, func(from, to int64) { punch(f.spool.file, from, to-from) })
		f.punched = done
	}
}
