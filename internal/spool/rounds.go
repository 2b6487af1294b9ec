package spool

import (
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/ringdata"
)

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
		switch c.typ {
		case chunkRing:
			if int(c.ring) < len(f.rings) && int(c.length) <= maxPiece {
				f.rings[c.ring].append(&c)
			}
		case chunkSideband:
			if c.length <= maxSmallChunk {
				f.side.append(&c)
			}
		case chunkGeneration:
			if f.round > 0 {
				f.apply.code.told.cut(f.round)
			}
		case chunkTasks:
			if c.length <= taskChunk {
				err = f.appendTasks(&c)
			}
		case chunkRound:
			var is bool
			if is, err = f.endRound(&c); is && err == nil {
				return true, nil
			}
		case chunkBlocked:
			f.blocked = append(f.blocked, c)
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
	f.openAt(roundOpen(b))
	f.round = time
	f.side.mark = time
	for i, s := range f.rings {
		producer, drained := roundPositions(b, i)
		s.reach(drained)
		s.roundEnded(time, producer, drained)
	}
	return true, nil
}

// openAt takes the time at which the window opened; 0: it has not. If the file begins with a later generation, nothing
// is known of what was before its first round. When the first list of all tasks is complete, all threads are known.
func (f *finaliser) openAt(at int64) {
	if f.open != 0 || at <= 0 {
		return
	}
	if !f.first.first {
		if f.round == 0 || f.spool.listed && !f.listed.complete {
			return
		}
		at = max(at, f.newest+1, f.round)
	}
	// A spool that lies may open the window before what was taken already, whose times the first state has.
	f.open = min(max(at, f.taken), f.end)
	f.out.due = f.open
}

// appendTasks takes a part of a list of tasks. If the file begins with a later generation, it notes when the first list was
// complete.
func (f *finaliser) appendTasks(c *chunk) error {
	f.listed.add(c)
	f.tasks.append(c)
	if f.first.first || f.open != 0 {
		return nil
	}
	b, err := f.scan.read(c)
	if err != nil || b == nil {
		return err
	}
	for ; len(b) >= ringdata.TaskSize; b = b[ringdata.TaskSize:] {
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
		f.scan.damage.Bad += chunkHeaderSize + int64(c.length)
		return nil
	}
	if last := f.out.clocks; last != nil && clocks.Monotonic <= last.Monotonic {
		return nil // it is there a second time
	}
	f.out.clocks = clocks
	if f.opened {
		err := f.out.w.Define(&format.Definitions{Clocks: []*format.ClockSnapshot{clocks}})
		f.out.defined()
		return err
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
