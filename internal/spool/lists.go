package spool

import (
	"errors"

	"wprof/internal/ringdata"
)

// BeginTasks begins a list of all tasks. One that has not ended stays incomplete.
func (w *Writer) BeginTasks() {
	w.tasks, w.listing = w.tasks[:0], false
	w.rolling.beginList()
}

// Tasks appends what a task iterator wrote, in pieces of any length. Rounds may come between them, but each task comes before
// the first round that is later than its record.
func (w *Writer) Tasks(raw []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	for len(raw) > 0 {
		n := min(len(raw), taskChunk-len(w.tasks))
		w.tasks = append(w.tasks, raw[:n]...)
		raw = raw[n:]
		whole := len(w.tasks) / ringdata.TaskSize * ringdata.TaskSize
		if len(w.tasks) < taskChunk && (len(raw) > 0 || whole < len(w.tasks)) {
			continue
		}
		if err := w.appendTasks(w.tasks[:whole]); err != nil {
			return err
		}
		w.tasks = append(w.tasks[:0], w.tasks[whole:]...)
	}
	return nil
}

func (w *Writer) appendTasks(records []byte) error {
	h := ChunkHeader{Type: ChunkTasks, Position: w.listed}
	if !w.listing {
		h.Flags = ChunkWhole
	}
	w.listing = true
	w.listed += uint64(len(records))
	return w.chunk(h, records)
}

// EndTasks ends the list of all tasks: it is complete.
func (w *Writer) EndTasks() error {
	if err := w.ready(); err != nil || !w.listing {
		return err
	}
	w.listing = false
	w.rolling.endList()
	return w.chunk(ChunkHeader{Type: ChunkTasks, Flags: ChunkLast, Position: w.listed}, nil)
}

// Blocked appends a list of the threads that are blocked when the window has closed, as the kernel's iterator wrote it:
// after the last round, before [Writer.End].
func (w *Writer) Blocked(list []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	for len(list) > 0 {
		n := 0
		for n < blockedChunk && n < len(list) {
			length := BlockedLength(list[n:])
			if length == 0 {
				return errors.New("spool where threads are blocked: the list is damaged")
			}
			n += length
		}
		if err := w.small(ChunkBlocked, 0, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
