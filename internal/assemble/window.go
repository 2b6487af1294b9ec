package assemble

import (
	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/spool"
)

// takeChunk takes a chunk that holds no records of rings.
func (f *finaliser) takeChunk(c *spool.Chunk) error {
	switch c.Type {
	case spool.ChunkGeneration:
		if f.round > 0 {
			f.apply.code.defs.cut(f.round)
		}
	case spool.ChunkTasks:
		return f.listTasks(c)
	case spool.ChunkBlocked:
		f.blocked = append(f.blocked, *c)
	case spool.ChunkClocks:
		return f.clocks(c)
	case spool.ChunkEnd:
		return f.ended(c)
	}
	return nil
}

// endRound is called when a round ends.
func (f *finaliser) endRound(opened, at int64) {
	f.openAt(opened)
	f.round = at
}

// openAt takes the time at which the window opened; 0: it has not. If the file begins with a later generation, nothing
// is known of what was before its first round. When the first list of all tasks is complete, all threads are known. The window of a flight
// recorder opens no earlier than it may.
func (f *finaliser) openAt(at int64) {
	if f.open != 0 || at <= 0 {
		return
	}
	if !f.spool.HasBeginning() {
		if f.round == 0 || f.spool.HasList() && !f.listed.Complete {
			return
		}
		at = max(at, f.newest+1, f.round)
	}
	if !f.options.Live {
		at = max(at, f.spool.Window())
	}
	// A damaged spool may open the window before records that were already taken, whose times the first state has.
	f.open = min(max(at, f.taken), f.end)
	f.out.due = f.open
}

// listTasks follows the lists of tasks. If the file begins with a later generation, it notes the time of the newest task that
// was listed before the window opens.
func (f *finaliser) listTasks(c *spool.Chunk) error {
	f.listed.Add(c)
	if f.spool.HasBeginning() || f.open != 0 {
		return nil
	}
	b, err := f.in.Payload(c)
	if err != nil || b == nil {
		return err
	}
	for size := f.spool.Header().TaskSize; len(b) >= size; b = b[size:] {
		f.newest = max(f.newest, merge.RecordTime(b))
	}
	return nil
}

func (f *finaliser) clocks(c *spool.Chunk) error {
	b, err := f.in.Payload(c)
	if err != nil || b == nil {
		return err
	}
	clocks := new(format.ClockSnapshot)
	if err := proto.Unmarshal(b, clocks); err != nil {
		f.in.Reject(c)
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
func (f *finaliser) ended(c *spool.Chunk) error {
	if f.tail != nil {
		open, _ := f.spool.Tail()
		f.openAt(open)
		return nil
	}
	b, err := f.in.Payload(c)
	if err != nil || b == nil {
		return err
	}
	open, tail, err := spool.ParseTail(b)
	if err != nil {
		return err
	}
	f.tail = tail
	f.openAt(open)
	return nil
}
