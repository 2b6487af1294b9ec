package spool

import (
	"os"
	"sync/atomic"
)

// publish lets a live Finalise read what was written so far.
func (w *Writer) publish() {
	if w.buffer != nil {
		w.buffer.endRound()
	} else {
		w.shared.publish(w.size)
	}
}

// Buffer starts a thread that writes to the disk until [Writer.Flush], so that the caller does not wait for it. prepare is
// called in that thread, and in the one that gives back space. Without memory for a buffer it does nothing.
func (w *Writer) Buffer(prepare func()) {
	if memory := allocate(waitingBytes); memory != nil {
		w.buffer = startBuffer(countedFile{w.file, &w.writes}, memory, w.size, prepare, w.shared.publish)
	}
	w.startTrimming(prepare)
}

// countedFile counts writes as [Writer.Writes] does.
type countedFile struct {
	*os.File
	writes *atomic.Uint64
}

func (f countedFile) WriteAt(b []byte, at int64) (int, error) {
	f.writes.Add(1)
	defer f.writes.Add(1)
	return f.File.WriteAt(b, at)
}

// Flush waits until everything is written. It has to be called after Buffer, also after an error.
func (w *Writer) Flush() error {
	if w.buffer == nil {
		w.stopTrimming()
		return nil
	}
	err := w.buffer.flush()
	w.stopTrimming()
	written := w.buffer.written.Load()
	w.bytes.Add(written - w.size)
	w.size = written
	release(w.buffer.memory)
	w.buffer = nil
	if err != nil && w.err == nil {
		return w.fail("write", err)
	}
	return w.err
}
