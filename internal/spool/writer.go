package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/ringdata"
)

// Writer writes a spool file. It is used by one goroutine; a [Spool] made from it may read at the same time.
type Writer struct {
	file   *os.File
	path   string
	folder *os.File // of path; nil: unknown
	moved  string
	tmpfs  bool

	begun      bool
	opened     atomic.Bool
	current    generation
	header     *generation // the first one, unchanged
	recording  uint32
	pieceBytes int // the most ring or side-band bytes in a chunk
	size       int64
	bytes      atomic.Int64 // of the file, without what was dropped
	err        error        // the first failure: what comes after it in the file could not be distinguished from garbage
	scratch    []byte       // payload of a small chunk
	headers    []byte       // of the chunks of one call of split
	vector     [][]byte
	tasks      []byte // a list's bytes that are not written yet
	listed     uint64 // bytes of all lists so far
	listing    bool   // a list has begun and not ended

	next    uint32 // number of the generation to come
	overlap int64  // where the bytes that go into both generations begin
	rounds  int    // since BumpGeneration; -1: no cut is under way
	side    uint64 // bytes of the side-band so far

	buffer *buffer       // nil: data is written to the file at once
	writes atomic.Uint64 // counts beginnings and ends of writes to the file

	copying    *Copy // the file whose parts are being written
	copyNumber uint16

	rolling *rolling      // nil: everything is kept
	record  *bytes.Buffer // takes what is written instead of a file; nil: there is a file

	shared shared
}

// shared is what a live [Spool] of the same file reads from its own goroutine.
type shared struct {
	whole atomic.Int64  // bytes up to the last whole round
	keep  atomic.Int64  // bytes from here on will be read again by Cut
	ended atomic.Bool   // nothing follows
	grown chan struct{} // one element: whole or ended has changed

	copies ranges // parts of files of code

	reading sync.Mutex // held by a live Finalise
	closed  bool
}

func (s *shared) end() {
	s.ended.Store(true)
	signal(s.grown)
}

func (s *shared) publish(whole int64) {
	s.whole.Store(whole)
	signal(s.grown)
}

func newWriter(file *os.File, path string) *Writer {
	w := &Writer{file: file, path: path, rounds: -1, tmpfs: isTmpfs(file)}
	w.shared.grown = make(chan struct{}, 1)
	w.shared.keep.Store(math.MaxInt64)
	return w
}

// Bytes is the length of the spool so far, without what was dropped. It may be called from any goroutine.
func (w *Writer) Bytes() int64 { return w.bytes.Load() }

// Writes counts the beginnings and ends of writes to the disk, so that it is odd while one is under way. It may be called from
// any goroutine.
func (w *Writer) Writes() uint64 { return w.writes.Load() }

// Begin writes the header. It comes first.
func (w *Writer) Begin(h Header) error {
	if w.begun {
		return errors.New("begin a spool: it has begun")
	}
	if h.Rings < 1 || h.Rings > maxRings {
		return fmt.Errorf("begin a spool of %d rings: it takes 1 to %d", h.Rings, maxRings)
	}
	w.begun = true
	h.TaskSize = ringdata.TaskSize
	w.recording = uint32(h.Session.GetId()) ^ uint32(h.Session.GetId()>>32)
	w.pieceBytes = PieceBytes(h.Rings)
	h.Session = proto.Clone(h.Session).(*format.Session)
	if len(h.Sources) > 0 {
		h.Session.Sources = h.Sources
		h.Stacks = true
	}
	w.current = generation{Header: h, newRings: true}
	header := w.current
	w.header = &header
	return w.generation()
}

func (w *Writer) generation() error {
	payload, err := w.current.append(w.scratch[:0])
	if err != nil {
		return err
	}
	w.scratch = payload
	return w.small(ChunkGeneration, 0, payload)
}

// Ring appends what a ring held from position pos on: whole records, with the ring's 8-byte headers.
func (w *Writer) Ring(ring int, pos uint64, raw []byte) error {
	if err := w.ready(); err != nil || len(raw) == 0 {
		return err
	}
	if ring < 0 || ring >= w.current.Rings {
		return fmt.Errorf("spool ring %d: the spool has %d", ring, w.current.Rings)
	}
	return w.split(ChunkHeader{Type: ChunkRing, Ring: uint16(ring), Position: pos}, raw)
}

// split writes bytes that begin with a record in chunks of one type.
func (w *Writer) split(h ChunkHeader, raw []byte) error {
	w.vector, w.headers = w.vector[:0], w.headers[:0]
	count := (len(raw) + w.pieceBytes - 1) / w.pieceBytes
	if need := count * chunkHeaderSize; cap(w.headers) < need {
		w.headers = make([]byte, 0, need)
	}
	h.Flags, h.recording = ChunkWhole, w.recording
	length := len(raw) + count*chunkHeaderSize
	for len(raw) > 0 {
		piece := raw[:min(len(raw), w.pieceBytes)]
		raw = raw[len(piece):]
		h.Length, h.CRC = uint32(len(piece)), checksum(piece)
		at := len(w.headers)
		w.headers = w.headers[:at+chunkHeaderSize]
		h.put(w.headers[at:])
		w.vector = append(w.vector, w.headers[at:at+chunkHeaderSize], piece)
		h.Position += uint64(len(piece))
		h.Flags = 0
	}
	var zeros [8]byte
	pad := padded(int(h.Length)) - int(h.Length)
	w.vector = append(w.vector, zeros[:pad])
	return w.write(length + pad)
}

// Sideband appends whole side-band records of a round, before [Writer.Round].
func (w *Writer) Sideband(records []byte) error {
	if err := w.ready(); err != nil || len(records) == 0 {
		return err
	}
	at := w.side
	w.side += uint64(len(records))
	return w.split(ChunkHeader{Type: ChunkSideband, Position: at}, records)
}

// Round ends a round: everything before it can be recovered if the recorder is killed.
func (w *Writer) Round(r Round) error {
	if err := w.ready(); err != nil {
		return err
	}
	if n := w.current.Rings; len(r.Producer) != n || len(r.Drained) != n {
		return fmt.Errorf("spool a round of %d and %d positions: there are %d rings", len(r.Producer), len(r.Drained), n)
	}
	w.scratch = appendRound(w.scratch[:0], w.current.open, &r)
	if err := w.small(ChunkRound, uint64(r.Time), w.scratch); err != nil {
		return err
	}
	w.publish()
	w.rolling.endRound(r.Time)
	if w.rounds >= 0 {
		w.rounds++
	}
	return nil
}

// Clocks appends a clock snapshot.
func (w *Writer) Clocks(c *format.ClockSnapshot) error {
	if err := w.ready(); err != nil {
		return err
	}
	payload, err := proto.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the clocks: %w", err)
	}
	return w.small(ChunkClocks, 0, payload)
}

// Open sets when the window opened: after the first list of tasks, before a round with a later time. Records before it
// only identify threads.
func (w *Writer) Open(at int64) error {
	if err := w.ready(); err != nil {
		return err
	}
	// Every round and every generation has it, so that it can hardly be damaged.
	w.current.open = at
	w.opened.Store(true)
	return nil
}

// End notes that the window has closed and all rings are empty. It comes last.
func (w *Writer) End(t Tail) error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.end(&t); err != nil {
		return err
	}
	w.shared.whole.Store(w.size)
	w.shared.end()
	return nil
}

func (w *Writer) end(t *Tail) error {
	payload, err := appendTail(w.scratch[:0], w.current.open, t)
	if err != nil {
		return err
	}
	return w.small(ChunkEnd, 0, payload)
}

// GiveUp ends the spool for a live reader. Without an End its stream is marked as cut. The file stays open, for
// [Writer.Salvage] and [Writer.Keep].
func (w *Writer) GiveUp() { w.shared.end() }

// Close closes the file; spools made from it can no longer be read. It ends the spool for a live reader, and waits for it.
func (w *Writer) Close() error {
	w.shared.end()
	w.shared.reading.Lock()
	defer w.shared.reading.Unlock()
	w.shared.closed = true
	if w.folder != nil {
		_ = w.folder.Close()
	}
	return w.file.Close()
}

// Opened reports whether the window has opened. It may be called from any goroutine.
func (w *Writer) Opened() bool { return w.opened.Load() }

func (w *Writer) ready() error {
	if w.err == nil && !w.begun {
		return errors.New("write to a spool: it has not begun")
	}
	return w.err
}

// small writes a chunk with one payload.
func (w *Writer) small(typ ChunkType, position uint64, payload []byte) error {
	if len(payload) > maxSmallChunk {
		return fmt.Errorf("spool %d bytes at once: %d are the most", len(payload), maxSmallChunk)
	}
	return w.chunk(ChunkHeader{Type: typ, Position: position}, payload)
}

// chunk writes a chunk; it sets the payload's length and checksum in the header.
func (w *Writer) chunk(h ChunkHeader, payload []byte) error {
	h.Length, h.CRC, h.recording = uint32(len(payload)), checksum(payload), w.recording
	var header [chunkHeaderSize]byte
	var zeros [8]byte
	h.put(header[:])
	pad := padded(len(payload)) - len(payload)
	w.vector = append(w.vector[:0], header[:], payload, zeros[:pad])
	return w.write(chunkHeaderSize + len(payload) + pad)
}

// write appends the parts in w.vector.
func (w *Writer) write(length int) (err error) {
	if w.record != nil {
		for _, part := range w.vector {
			w.record.Write(part)
		}
	} else if w.buffer != nil {
		err = w.buffer.append(w.vector)
	} else {
		w.writes.Add(1)
		err = writeVector(w.file, w.vector, w.size)
		w.writes.Add(1)
	}
	if err != nil {
		return w.fail("write", err)
	}
	w.size += int64(length)
	w.bytes.Add(int64(length))
	return nil
}

func (w *Writer) fail(action string, err error) error {
	if at := new(fs.PathError); errors.As(err, &at) {
		err = at.Err
	}
	w.err = fmt.Errorf("%s the %s: %w", action, w.Name(), err)
	return w.err
}
