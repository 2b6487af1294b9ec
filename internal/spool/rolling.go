package spool

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"
)

// rolling is what a Writer knows of the generations that it keeps, for a flight recorder. The beginning of the file stays, up to the
// chunk that says where the first generation that is kept begins; what is between the two is given back to the disk.
type rolling struct {
	window time.Duration // 0: no limit
	limit  int64         // bytes; 0: no limit
	headAt int64         // where the chunkKept is; it ends the head
	head   int64         // where the head ends

	kept   []keptGeneration // the current one is the last
	lister uint32           // number of the generation in which the list of tasks under way has begun
	listed bool             // that list ended after the last round
	pins   map[*Pin]bool    // parts of the file that are being read

	trim *trimmer // nil: it is not running
}

// keptGeneration is a generation that is not dropped.
type keptGeneration struct {
	number uint32
	at     int64 // where its header is
	based  bool  // the base is complete
	listed int64 // when a list of all tasks that has begun in it was complete, CLOCK_MONOTONIC ns; 0: none is
}

// isWhole reports whether what is kept may begin with the generation: everything is known at its beginning.
func (g *keptGeneration) isWhole() bool { return g.based && g.listed != 0 }

// sizeShare is the share of the limit that a generation may have. Two of them are left for what is written until space is given back.
const sizeShare = 8

// Roll makes the Writer keep only a window before the present, and a number of bytes at most; 0: no limit. What is before it in the file
// stays, and no round, list or ring may be among it.
func (w *Writer) Roll(window time.Duration, limit int64) error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := canPunch(w.file); err != nil {
		return fmt.Errorf("keep only the last part of a recording: the file system of the %s cannot free parts of a file: %w", w.Name(), err)
	}
	w.rolling = &rolling{window: window, limit: limit, headAt: w.size, pins: make(map[*Pin]bool)}
	if err := w.chunk(ChunkHeader{Type: chunkKept}, keptPayload(window)); err != nil {
		return err
	}
	w.rolling.head = w.size
	w.rolling.kept = append(w.rolling.kept, keptGeneration{number: w.current.number, based: true})
	return nil
}

func keptPayload(window time.Duration) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(window.Nanoseconds()))
}

// begin notes that a generation begins.
func (r *rolling) begin(number uint32, at int64) {
	if r != nil {
		r.kept = append(r.kept, keptGeneration{number: number, at: at})
	}
}

func (r *rolling) beginList() {
	if r != nil {
		r.lister, r.listed = r.kept[len(r.kept)-1].number, false
	}
}

func (r *rolling) endList() {
	if r != nil {
		r.listed = true
	}
}

// endRound notes when the list that ended before the round was complete.
func (r *rolling) endRound(at int64) {
	if r == nil || !r.listed {
		return
	}
	r.listed = false
	if g := r.generation(r.lister); g != nil {
		g.listed = at
	}
}

// generation returns a generation that is kept; nil: it was dropped.
func (r *rolling) generation(number uint32) *keptGeneration {
	if r == nil {
		return nil
	}
	for i := range r.kept {
		if r.kept[i].number == number {
			return &r.kept[i]
		}
	}
	return nil
}

// gone is how much of the file was dropped.
func (r *rolling) gone() int64 {
	if r.kept[0].at == 0 {
		return 0
	}
	return r.kept[0].at - r.head
}

// Base appends a part of what the side-band has reported before a generation; last: it is complete. It may be called between any two
// rounds, but not while [Writer.Cutting].
func (w *Writer) Base(generation uint32, first, last bool, records []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	h := ChunkHeader{Type: ChunkBase, Position: uint64(generation)}
	if first {
		h.Flags |= ChunkWhole
	}
	if last {
		h.Flags |= ChunkLast
	}
	if g := w.rolling.generation(generation); g != nil && last {
		g.based = true
	}
	return w.chunk(h, records)
}

// MaxBase is the most that [Writer.Base] takes.
const MaxBase = 256 << 10

// GenerationFull reports whether the generation has reached its share of the limit.
func (w *Writer) GenerationFull() bool {
	r := w.rolling
	return r != nil && r.limit > 0 && w.size-max(r.kept[len(r.kept)-1].at, r.head) > r.limit/sizeShare
}

// Generation is the number of the generation that is being written.
func (w *Writer) Generation() uint32 { return w.current.number }

// Drop gives back the generations that the window no longer needs. The disk space becomes free a little later. It returns when the threads
// of the first one that is kept had been listed; 0: they have not.
func (w *Writer) Drop(now int64) (oldest int64) {
	r := w.rolling
	if r.trim == nil {
		return 0
	}
	if first := r.firstNeeded(now, w.size); first > 0 {
		before := r.gone()
		r.kept = append(r.kept[:0], r.kept[first:]...)
		w.bytes.Add(before - r.gone())
		r.trim.upTo(r.kept[0].at, w.size)
	}
	if r.kept[0].at == 0 {
		return 0
	}
	return r.kept[0].listed
}

// Oldest is the number of the first generation that is kept.
func (w *Writer) Oldest() uint32 { return w.rolling.kept[0].number }

// firstNeeded returns the index of the first generation to keep: the latest with which the window can begin, or a later one if that is
// too much for the limit.
func (r *rolling) firstNeeded(now, size int64) int {
	first := 0
	for i := 1; i < len(r.kept) && r.window > 0; i++ {
		if g := &r.kept[i]; g.isWhole() && g.listed <= now-r.window.Nanoseconds() {
			first = i
		}
	}
	if r.limit > 0 {
		first = max(first, r.firstWithin(first, size))
	}
	return r.keepPinned(first, size)
}

// firstWithin returns the first generation from which on the file is not larger than the limit: if possible one with which a window can
// begin.
func (r *rolling) firstWithin(first int, size int64) int {
	room := r.limit - r.limit/sizeShare*3 - r.head
	fits := func(i int) bool { return size-max(r.kept[i].at, r.head) <= room }
	if fits(first) {
		return first
	}
	for i := first; i < len(r.kept); i++ {
		if fits(i) && r.kept[i].isWhole() {
			return i
		}
	}
	// No later one is whole yet, and there is still time for that.
	room = r.limit - r.limit/sizeShare*2 - r.head
	for i := first; i < len(r.kept)-1; i++ {
		if fits(i) {
			return i
		}
	}
	return len(r.kept) - 1
}

// startTrimming starts the thread that gives back what is dropped.
func (w *Writer) startTrimming(prepare func()) {
	if r := w.rolling; r != nil {
		r.trim = &trimmer{reader: w.reader(), file: w.file, head: r.head, headAt: r.headAt, payload: keptPayload(r.window), recording: w.recording, more: make(chan struct{}, 1), done: make(chan struct{})}
		go r.trim.run(prepare)
	}
}

// stopTrimming waits until everything that was dropped is given back.
func (w *Writer) stopTrimming() {
	if r := w.rolling; r != nil && r.trim != nil {
		r.trim.stop()
		r.trim = nil
	}
}

// trimmer gives back the disk space before the first generation that is kept. Neither the thread that drains nor the one that writes
// waits for it.
type trimmer struct {
	reader       io.ReaderAt
	file         *os.File
	head, headAt int64
	payload      []byte
	recording    uint32

	mu          sync.Mutex
	from, until int64 // where what is kept begins, and up to where the file has to be written before; 0: nothing was dropped
	stopped     bool
	more        chan struct{} // one element: from has changed, or stopped is set
	done        chan struct{}
}

func (t *trimmer) upTo(from, until int64) {
	t.mu.Lock()
	t.from, t.until = from, until
	t.mu.Unlock()
	signal(t.more)
}

func (t *trimmer) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	signal(t.more)
	<-t.done
}

func (t *trimmer) run(prepare func()) {
	defer close(t.done)
	runtime.LockOSThread() // never unlocked, so that the thread ends with what prepare has done to it
	prepare()
	for given := t.head; ; {
		t.mu.Lock()
		from, until, stopped := t.from, t.until, t.stopped
		t.mu.Unlock()
		if from > given {
			given = t.give(given, from, until)
		} else if stopped {
			return
		} else {
			<-t.more
		}
	}
}

// give notes where what is kept begins, and then gives back what is before it. If the recorder is killed in between, the file still has
// everything that is kept.
func (t *trimmer) give(given, from, until int64) int64 {
	var last [1]byte
	if _, err := t.reader.ReadAt(last[:], until-1); err != nil {
		return from // the recording is about to end with that error
	}
	h := ChunkHeader{Type: chunkKept, Length: uint32(len(t.payload)), CRC: checksum(t.payload), Position: uint64(from), recording: t.recording}
	var header [chunkHeaderSize]byte
	h.put(header[:])
	if _, err := t.file.WriteAt(header[:], t.headAt); err != nil {
		return given
	}
	punch(t.file, given, from-given)
	return from
}
