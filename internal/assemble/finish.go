package assemble

import (
	"wprof/format"
	"wprof/internal/spool"
)

// finish takes what is left, writes what is still open, and ends the stream.
func (f *finaliser) finish() error {
	if f.open == 0 {
		return spool.ErrUnopened
	}
	end := f.endTime()
	f.end = end
	held := f.in.Drain()
	if err := f.until(end + 1); err != nil {
		return err
	}
	if err := f.writeMarks(end); err != nil {
		return err
	}
	f.closed = true
	if _, err := f.in.Until(never); err != nil {
		return err
	}
	if err := f.taker.finish(end); err != nil {
		return err
	}
	if err := f.reportMissing(held, end); err != nil {
		return err
	}
	if err := f.setBlockedStacks(end); err != nil {
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
	return min(max(end, f.open), never-1)
}

// reportMissing writes losses that have no record.
func (f *finaliser) reportMissing(held, end int64) error {
	if f.tail == nil {
		f.spool.MarkCut()
	}
	err := f.in.OpenHoles(
		func(from int64) error { return f.apply.applyHole(from, end) },
		func(from int64) error { return f.taker.missing(from, end) },
	)
	if err != nil {
		return err
	}
	if held < end {
		if err := f.apply.applyHole(held, end); err != nil {
			return err
		}
	}
	if f.tail == nil {
		if held < end {
			return nil
		}
		// What came after the last whole round is missing, and nothing else in the stream shows that. Up to there no
		// thread's state is uncertain.
		return f.out.lost(end, &spool.Loss{CPU: format.AllCPUs, Cause: format.CauseSpool, From: end})
	}
	for i := range f.tail.Losses {
		l := &f.tail.Losses[i]
		if l.Kind == format.KindSwitch || l.Kind == 0 && l.Cause != format.CauseDefinition {
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
		cost.SpoolBytes = uint64(f.in.Limit())
	}
	if f.tail != nil {
		cost.Programs, cost.FramesByTable, cost.FramesByPointer = f.tail.Programs, f.tail.FramesByTable, f.tail.FramesByPointer
	}
	return cost
}

func (f *finaliser) summary() Summary {
	s := f.out.summary
	s.Losses = f.out.allLosses.List()
	s.Events = make(map[format.Kind]uint64)
	for kind, n := range f.out.counts {
		if n > 0 {
			s.Events[format.Kind(kind)] = n
		}
	}
	s.Damage = f.spool.Damage()
	f.apply.code.addTo(&s)
	return s
}
