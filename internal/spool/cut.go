package spool

import (
	"errors"
	"math"

	"wprof/format"
)

// BumpGeneration notes that the kernel programs have been given the next generation's number: from here on, records
// go into both generations until [Writer.Cut].
func (w *Writer) BumpGeneration(n uint32) error {
	if err := w.ready(); err != nil {
		return err
	}
	if w.rounds >= 0 {
		return errors.New("bump the generation of a spool: a cut is under way")
	}
	w.next, w.overlap, w.rounds = n, w.size, 0
	w.shared.keep.Store(w.overlap)
	return nil
}

// Cutting reports that the generation was bumped and [Writer.Cut] is still to come.
func (w *Writer) Cutting() bool { return w.rounds >= 0 }

// CutDue reports that two rounds have passed since BumpGeneration: it is time for [Writer.Cut].
func (w *Writer) CutDue() bool { return w.rounds >= 2 }

// Cut begins the next generation: its header, the clocks, and what was written since BumpGeneration once more.
func (w *Writer) Cut(c *format.ClockSnapshot) error {
	if err := w.ready(); err != nil {
		return err
	}
	if !w.CutDue() {
		return errors.New("cut a spool: two rounds have not passed since its generation was bumped")
	}
	from, to := w.overlap, w.size
	w.current.number, w.current.newRings, w.rounds = w.next, false, -1
	w.rolling.begin(w.next, w.size)
	if err := w.generation(); err != nil {
		return err
	}
	if err := w.Clocks(c); err != nil {
		return err
	}
	if err := w.repeat(from, to); err != nil {
		return err
	}
	w.shared.keep.Store(math.MaxInt64)
	return nil
}

// repeat appends a part of the file again.
func (w *Writer) repeat(from, to int64) error {
	buf := make([]byte, min(to-from, 1<<20))
	for from < to {
		part := buf[:min(to-from, int64(len(buf)))]
		if err := w.readBack(part, from); err != nil {
			return w.fail("read back", err)
		}
		w.vector = append(w.vector[:0], part)
		if err := w.write(len(part)); err != nil {
			return err
		}
		from += int64(len(part))
	}
	w.publish()
	return nil
}

func (w *Writer) readBack(part []byte, at int64) error {
	if w.buffer != nil {
		return w.buffer.readBack(part, at)
	}
	_, err := w.file.ReadAt(part, at)
	return err
}
