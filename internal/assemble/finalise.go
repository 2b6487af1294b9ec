package assemble

import (
	"math"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/syscalls"
)

const never = math.MaxInt64

// finaliser writes the stream of a spool.
type finaliser struct {
	spool   *spool.Spool
	options Options
	in      *merge.Reader
	out     *stream
	apply   *applier
	taker   sidebandApplier

	open    int64 // when the window opened; 0: not known yet
	opened  bool  // the stream has begun
	closed  bool  // all records up to end have been taken
	end     int64 // no record after this is part of the recording
	tail    *spool.Tail
	round   int64 // time of the last round
	taken   int64 // time of the last record that was taken before the opening was known
	newest  int64 // time of the last task that was listed before the opening
	listed  spool.Listing
	given   int64         // up to where disk space was given back
	marks   []Mark        // that are not written yet
	blocked []spool.Chunk // lists of threads that are blocked at the end
}

// Finalise writes the stream of a spool.
func Finalise(s *spool.Spool, w *format.Writer, o Options) (Summary, error) {
	live, end, err := s.Follow(o.Live)
	if err != nil {
		return Summary{}, err
	}
	defer end()
	o.Live = live
	return newFinaliser(s, w, o).run()
}

func (f *finaliser) run() (Summary, error) {
	if f.options.Live {
		defer f.apply.code.startNaming()()
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

func newFinaliser(s *spool.Spool, w *format.Writer, o Options) *finaliser {
	f := &finaliser{spool: s, options: o, end: never - 1, marks: o.Marks}
	_, f.tail = s.Tail()
	if !o.Live {
		f.end = min(s.Closed(), never-1)
	}
	header := s.Header()
	r := newSchedState(uint32(header.RecorderPID))
	f.out = &stream{
		w: w, sched: r, states: !header.NoSched, live: o.Live, from: never, due: never, full: format.EpochBytes,
		session: proto.Clone(header.Session).(*format.Session),
	}
	f.out.summary.LostByCause = make(map[format.Cause]uint64)
	f.apply = newApplier(r, f.out)
	f.apply.offCPUMin = header.OffCPUMin
	f.taker = sidebandApplier{applier: f.apply, tables: sideband.NewTables()}
	f.apply.code = newCode(f.out, f.taker.tables, func() kernelCode { return readKernelCode(s) }, &f.options)
	defs := f.apply.code.defs
	defs.rotated = func() {
		r.keepBlocked()
		f.out.waits.rotate()
		f.out.types.rotate()
		f.out.cgroups.rotate()
		f.apply.code.python.rotate()
		if defs.earlier == nil && f.out.types.tracepoints.hasLongStacks() {
			defs.earlier = make(map[uint64]*stackDef)
		}
	}
	f.out.types.tracepoints.encoded = s.Layouts
	f.out.stackOf = f.apply.code.stackOf
	machine := header.Session.GetMachine()
	f.out.waits.calls = syscalls.Names(machine)
	f.out.calls = callTable{names: [2][]string{f.out.waits.calls, syscalls.CompatNames(machine)}, decoder: syscalls.NewDecoder(machine), abi: syscalls.ABI(machine)}
	f.in = merge.NewReader(s, merge.Handlers{
		Record: f.take, Define: f.apply.define, Sideband: f.takeSideband,
		SidebandLost: f.sidebandLost, Round: f.endRound, Chunk: f.takeChunk,
	})
	f.apply.in = f.in
	return f
}

// step reads one more round. It returns false at the end.
func (f *finaliser) step() (bool, error) {
	ended := true
	if f.options.Live {
		var limit int64
		limit, ended = f.spool.Whole()
		f.in.Extend(limit)
	}
	round, err := f.in.NextRound()
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
		f.spool.Wait()
		return true, nil
	}
	if f.options.Progress != nil {
		total := f.in.Limit()
		if f.options.Live {
			total = 0
		}
		f.options.Progress(f.in.Offset(), total)
	}
	if err := f.until(min(f.in.Watermark(), f.end+1)); err != nil {
		return false, err
	}
	f.apply.code.applyNames()
	if f.options.Live && f.spool.Unlinked() {
		f.apply.code.loadKernel() // before its place in the file is given back
		f.out.types.tracepoints.read()
		f.given = f.spool.GiveBack(f.given, f.in.Done())
	}
	return true, nil
}

// until takes the records before a time.
func (f *finaliser) until(limit int64) error {
	reached, err := f.in.Until(limit)
	if err != nil {
		return err
	}
	if reached > f.out.due {
		return f.reach(reached - 1)
	}
	return nil
}

func (f *finaliser) take(record []byte, at int64) error {
	if f.closed {
		return f.apply.applyAfterClose(record, f.end)
	}
	if f.open == 0 {
		f.taken = at
	}
	f.taker.applyKept(at)
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
		if err := f.out.lost(at, &spool.Loss{CPU: format.AllCPUs, From: at, Cause: format.CauseDefinition, Count: n}); err != nil {
			return err
		}
	}
	if len(f.marks) > 0 && f.marks[0].At < at {
		if err := f.writeMarks(at - 1); err != nil {
			return err
		}
	}
	return f.apply.apply(record, at)
}

func (f *finaliser) takeSideband(record []byte, at int64) error {
	if f.closed {
		return nil
	}
	if at >= f.out.due {
		if err := f.reach(at); err != nil {
			return err
		}
	}
	return f.taker.take(record, at)
}

func (f *finaliser) sidebandLost(from, at int64) error {
	if f.closed {
		at = f.end
		if from >= at {
			return nil
		}
	}
	if at >= f.out.due {
		if err := f.reach(at); err != nil {
			return err
		}
	}
	return f.taker.missing(from, at)
}

// reach runs what is due at or before a time: open the window, write a state, begin an epoch.
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

// flush writes buffered events for a waiting reader.
func (f *finaliser) flush() error {
	if !f.opened {
		return nil
	}
	return f.out.w.Flush()
}
