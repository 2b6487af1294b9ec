package spool

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// waitingBytes is the size of the buffer for data that the disk has not taken: 2.6 s of 630,000 events a second. The kernel
	// backs only what was used.
	waitingBytes = 64 << 20
	// writeBytes is the most that is written at once, so that room is freed in small pieces.
	writeBytes = 1 << 20
)

// bufferedFile is the file behind a buffer; *os.File in a recording.
type bufferedFile interface {
	io.ReaderAt
	io.WriterAt
}

// buffer holds the bytes at the end of a file that are not written yet. One goroutine appends, and waits for the disk only when
// the buffer is full; a thread writes.
type buffer struct {
	file    bufferedFile
	memory  []byte
	base    int64        // where in the file the beginning of memory belongs; changes only while the buffer is empty
	end     atomic.Int64 // where in the file the next byte belongs
	round   atomic.Int64 // end of the last whole round
	written atomic.Int64 // end of what is in the file
	failed  atomic.Pointer[error]
	closing atomic.Bool
	more    chan struct{} // one element: there is more to write, or closing is set
	room    chan struct{} // one element: something was written, or has failed
	done    chan struct{} // closed: nothing is written any more
	publish func(int64)

	mu      sync.Mutex
	changed sync.Cond // written has changed, or nothing is written any more
	idle    bool      // nothing is written any more
}

// startBuffer begins to write at a place in the file. prepare is called in the thread that writes.
func startBuffer(file bufferedFile, memory []byte, at int64, prepare func(), publish func(int64)) *buffer {
	b := &buffer{
		file: file, memory: memory, base: at, publish: publish,
		more: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
	}
	b.changed.L = &b.mu
	b.end.Store(at)
	b.written.Store(at)
	go func() {
		defer close(b.done)
		// Never unlocked, so that the thread ends here with all that prepare has done to it.
		runtime.LockOSThread()
		prepare()
		b.run()
	}()
	return b
}

// append adds parts at the end. They are written soon after the next call of endRound.
func (b *buffer) append(parts [][]byte) error {
	end := b.end.Load()
	if b.written.Load() == end {
		b.base = end // the beginning of memory is in use already
	}
	for _, part := range parts {
		for len(part) > 0 {
			free, err := b.waitForRoom(end)
			if err != nil {
				return err
			}
			at := (end - b.base) % int64(len(b.memory))
			n := copy(b.memory[at:], part[:min(int64(len(part)), free)])
			part = part[n:]
			end += int64(n)
		}
	}
	b.end.Store(end)
	return nil
}

// waitForRoom returns for how many bytes there is room after end.
func (b *buffer) waitForRoom(end int64) (int64, error) {
	for {
		if err := b.failed.Load(); err != nil {
			return 0, *err
		}
		if free := int64(len(b.memory)) - (end - b.written.Load()); free > 0 {
			return free, nil
		}
		b.end.Store(end)
		signal(b.more)
		<-b.room
	}
}

// endRound makes the thread write everything, and publish it then.
func (b *buffer) endRound() {
	b.round.Store(b.end.Load())
	signal(b.more)
}

func (b *buffer) run() {
	for published := int64(0); ; {
		closing, round, written := b.closing.Load(), b.round.Load(), b.written.Load()
		if round > published && round <= written {
			published = round
			b.publish(round)
		}
		end := b.end.Load()
		if written == end {
			if closing {
				break
			}
			<-b.more
			continue
		}
		at := (written - b.base) % int64(len(b.memory))
		n := min(end-written, int64(len(b.memory))-at, writeBytes)
		if _, err := b.file.WriteAt(b.memory[at:at+n], written); err != nil {
			failed := err // err itself would be allocated for each write
			b.failed.Store(&failed)
			break
		}
		b.advance(written + n)
	}
	b.mu.Lock()
	b.idle = true
	b.mu.Unlock()
	b.changed.Broadcast()
	signal(b.room)
}

func (b *buffer) advance(written int64) {
	b.mu.Lock()
	b.written.Store(written)
	b.mu.Unlock()
	b.changed.Broadcast()
	signal(b.room)
}

// flush waits until everything is written. Afterwards only ReadAt may be called.
func (b *buffer) flush() error {
	b.closing.Store(true)
	signal(b.more)
	<-b.done
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// readBack reads what was appended, wherever it is. It is for the goroutine that appends, and waits for no write.
func (b *buffer) readBack(part []byte, at int64) error {
	n := min(max(b.written.Load()-at, 0), int64(len(part)))
	if _, err := b.file.ReadAt(part[:n], at); err != nil {
		return err
	}
	for part, at = part[n:], at+n; len(part) > 0; at += n {
		n = int64(copy(part, b.memory[(at-b.base)%int64(len(b.memory)):]))
		part = part[n:]
	}
	return nil
}

// ReadAt waits until the file has what it reads. It is for any goroutine.
func (b *buffer) ReadAt(part []byte, at int64) (int, error) {
	b.mu.Lock()
	for !b.idle && b.written.Load() < at+int64(len(part)) && at+int64(len(part)) <= b.end.Load() {
		b.changed.Wait()
	}
	b.mu.Unlock()
	return b.file.ReadAt(part, at)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
