package capture

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

const (
	// releaseEvery is the interval between checks of files, and the minimum time for which they are held. A shorter recording copies nothing.
	releaseEvery = 2 * time.Second
	// maxBatches bounds the memory of copies, and how many batches the draining thread writes after a round.
	maxBatches = 8
	// batchPause is between two batches: at most 25 MB a second are copied.
	batchPause = 10 * time.Millisecond
	// maxBatchParts bounds the writes of one batch.
	maxBatchParts = 128
	// maxFileCopy and maxCopied bound the bytes copied of one file and of all files.
	maxFileCopy = 64 << 20
	maxCopied   = 256 << 20
	// copyRoom is the disk space that copies leave to the recording, bytes.
	copyRoom = 1 << 30
)

// copier closes files that must not stay open: deleted ones, which keep their disk space, and those on mounts that no
// program runs from any more, which cannot be unmounted. Before that it copies the parts that naming needs into the spool,
// so that the spool of a killed recorder has names too.
//
// A thread of low priority checks and reads the files. It does not have SCHED_IDLE, because on a busy machine it would hold
// locks of the Go runtime for seconds. It passes on what it has read, and the draining thread writes that after a round,
// without waiting.
type copier struct {
	files   *sideband.Files
	room    func() int64
	kept    map[uint64]bool // mounts whose files may stay open, by id
	ready   chan *batch     // to be written
	written chan *batch
	free    chan *batch
	stopped chan struct{}
	once    sync.Once

	// Of the reading thread.
	batch  *batch // being filled; nil: none
	number uint16
	left   int64
}

// batch is some parts of files, and the memory for them.
type batch struct {
	bytes []byte
	parts []part
}

// part is a part of a file, or the end of its parts.
type part struct {
	number uint16
	offset int64
	bytes  []byte
	ended  *sideband.Held // nil: this is not the end
	size   int64          // of the file
	copy   *spool.Copy    // when the end is written
}

func startCopier(files *sideband.Files, writer *spool.Writer) *copier {
	c := &copier{
		files: files, room: writer.Room, kept: make(map[uint64]bool), left: maxCopied, stopped: make(chan struct{}),
		ready: make(chan *batch, maxBatches), written: make(chan *batch, maxBatches), free: make(chan *batch, maxBatches),
	}
	for range maxBatches {
		c.free <- new(batch)
	}
	go c.run()
	return c
}

// stop ends the copying, without waiting. A file that is not copied completely stays open.
func (c *copier) stop() {
	if c != nil {
		c.once.Do(func() { close(c.stopped) })
	}
}

// writeReady writes the batches that are ready.
func (c *copier) writeReady(w *spool.Writer) error {
	if c == nil || w.Cutting() { // what is written now would be written twice
		return nil
	}
	for range maxBatches {
		select {
		case b := <-c.ready:
			if err := b.write(w); err != nil {
				return err
			}
			c.written <- b
		default:
			return nil
		}
	}
	return nil
}

func (b *batch) write(w *spool.Writer) (err error) {
	for i := range b.parts {
		p := &b.parts[i]
		if p.ended == nil {
			err = w.CopyPiece(p.number, p.offset, p.bytes)
		} else {
			p.copy, err = w.CopyFile(p.number, p.size, &p.ended.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run passes the files to the reading thread periodically. The end of a recording does not wait for that thread.
func (c *copier) run() {
	every := time.NewTicker(releaseEvery)
	defer every.Stop()
	requests, results := make(chan []*sideband.Held), make(chan []*sideband.Held, 1)
	defer close(requests)
	var young, old []*sideband.Held
	for first := true; ; first = false {
		select {
		case <-every.C:
		case <-c.stopped:
			return
		}
		if first {
			c.begin(requests, results)
		}
		old, young = append(old, young...), c.files.Fresh()
		select {
		case requests <- old:
		case <-c.stopped:
			return
		}
		select {
		case old = <-results:
		case <-c.stopped:
			return
		}
	}
}

// begin starts the reading thread, and the goroutine that closes copied files.
func (c *copier) begin(requests <-chan []*sideband.Held, results chan<- []*sideband.Held) {
	for _, path := range []string{"/", "/proc/1/root"} {
		var stat unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &stat) == nil {
			c.kept[stat.Mnt_id] = true
		}
	}
	go c.release()
	go func() {
		runtime.LockOSThread() // never unlocked, so that its priority ends with it
		lowerPriority()
		for files := range requests {
			results <- c.checkAll(files)
		}
	}()
}

// checkAll copies those files that must not stay open, and returns those to check again.
func (c *copier) checkAll(files []*sideband.Held) []*sideband.Held {
	rest := files[:0]
	for _, h := range files {
		select {
		case <-c.stopped:
			return nil
		default:
		}
		if c.check(h) {
			rest = append(rest, h)
		}
	}
	clear(files[len(rest):])
	c.handOver()
	return rest
}

// release closes the files whose copies have been written.
func (c *copier) release() {
	for {
		select {
		case b := <-c.written:
			for i := range b.parts {
				if p := &b.parts[i]; p.ended != nil {
					c.files.Release(p.ended, p.copy)
				}
			}
			clear(b.parts)
			b.parts, b.bytes = b.parts[:0], b.bytes[:0]
			c.free <- b
		case <-c.stopped:
			return
		}
	}
}

// check copies a file if it must not stay open, and reports whether to check it again.
func (c *copier) check(h *sideband.Held) bool {
	var stat unix.Statx_t
	err := unix.Statx(int(h.File.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &stat)
	if err != nil || stat.Nlink > 0 && (c.kept[stat.Mnt_id] || h.Mapped()) || !h.Unchanged() || c.room() < copyRoom+maxFileCopy {
		return true
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFREG && c.copy(h, int64(stat.Size)) {
		return false
	}
	select {
	case <-c.stopped:
		return true
	default: // it cannot be copied and stays open
		return false
	}
}

// copy copies the parts of a file that naming needs, unless they are too large or the file has changed since it was opened.
func (c *copier) copy(h *sideband.Held, size int64) bool {
	needs, err := symbol.Needs(h.File, size, min(maxFileCopy, c.left))
	if err != nil || c.number == spool.MaxCopies {
		return false
	}
	c.number++
	for _, e := range needs {
		for e.Length > 0 {
			n, ok := c.copyPart(h, e)
			if !ok {
				return false
			}
			e.Offset += n
			e.Length -= n
		}
	}
	if !h.Unchanged() || !c.ensureBatch() {
		return false
	}
	c.batch.parts = append(c.batch.parts, part{number: c.number, ended: h, size: size})
	return true
}

// copyPart reads as much of an extent as the batch has room for.
func (c *copier) copyPart(h *sideband.Held, e symbol.Extent) (n int64, ok bool) {
	if !c.ensureBatch() {
		return 0, false
	}
	b := c.batch
	from := len(b.bytes)
	to := from + int(min(e.Length, int64(cap(b.bytes)-from)))
	part := part{number: c.number, offset: e.Offset, bytes: b.bytes[from:to]}
	if n, _ := h.File.ReadAt(part.bytes, e.Offset); n < to-from {
		return 0, false // it was truncated
	}
	b.bytes = b.bytes[:to]
	b.parts = append(b.parts, part)
	c.left -= int64(to - from)
	return int64(to - from), true
}

// ensureBatch makes sure that there is a batch with room. False: the recording has ended.
func (c *copier) ensureBatch() bool {
	if c.batch != nil && (len(c.batch.bytes) == cap(c.batch.bytes) || len(c.batch.parts) >= maxBatchParts) {
		c.handOver()
		time.Sleep(batchPause)
	}
	if c.batch != nil {
		return true
	}
	select {
	case c.batch = <-c.free:
	case <-c.stopped:
		return false
	}
	if c.batch.bytes == nil {
		c.batch.bytes = make([]byte, 0, spool.MaxCopyPiece)
	}
	return true
}

// handOver passes the batch on to the draining thread.
func (c *copier) handOver() {
	if c.batch != nil {
		c.ready <- c.batch
		c.batch = nil
	}
}
