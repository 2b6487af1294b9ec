package spool

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowFile takes what is written to it only while it is not locked, and room bytes in all.
type slowFile struct {
	mu      sync.Mutex
	content []byte
	room    int
}

var errFull = errors.New("the disk is full")

func (f *slowFile) WriteAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(b), f.room-int(at))
	f.content = append(f.content[:at], b[:n]...)
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (f *slowFile) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return copy(b, f.content[min(at, int64(len(f.content))):]), nil
}

func TestBufferTakesWhatAStoppedDiskDoesNot(t *testing.T) {
	file := &slowFile{room: 1 << 30}
	var published atomic.Int64
	b := startBuffer(file, make([]byte, 64<<10), 0, func() {}, published.Store)
	rng := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for range 200 {
		file.mu.Lock() // the disk stops
		for room := 60 << 10; room > 0; {
			part := make([]byte, min(rng.IntN(9000), room))
			for i := range part {
				part[i] = byte(rng.Uint32())
			}
			room -= len(part) + 1
			want = append(want, part...)
			if err := b.append([][]byte{part[:len(part)/2], part[len(part)/2:]}); err != nil {
				t.Fatal(err)
			}
			b.endRound()
		}
		if int(published.Load()) > len(file.content) {
			t.Fatalf("%d bytes are published, %d are in the file", published.Load(), len(file.content))
		}
		file.mu.Unlock()
		from := rng.IntN(min(len(want), 50<<10))
		got := make([]byte, from)
		if err := b.readBack(got, int64(len(want)-from)); err != nil || !bytes.Equal(got, want[len(want)-from:]) {
			t.Fatalf("what is read back differs: %v", err)
		}
		if _, err := b.ReadAt(got, int64(len(want)-from)); err != nil || !bytes.Equal(got, want[len(want)-from:]) {
			t.Fatalf("what another goroutine reads differs: %v", err)
		}
	}
	if err := b.flush(); err != nil || !bytes.Equal(file.content, want) || int(published.Load()) != len(want) {
		t.Fatalf("%v; %d bytes of %d are in the file, %d are published", err, len(file.content), len(want), published.Load())
	}
}

func TestFullBufferWaitsForTheDisk(t *testing.T) {
	file := &slowFile{room: 1 << 30}
	b := startBuffer(file, make([]byte, 1000), 0, func() {}, func(int64) {})
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	file.mu.Lock()
	time.AfterFunc(10*time.Millisecond, file.mu.Unlock)
	if err := b.append([][]byte{want}); err != nil {
		t.Fatal(err)
	}
	if err := b.flush(); err != nil || !bytes.Equal(file.content, want) {
		t.Fatalf("%v; %d bytes are in the file", err, len(file.content))
	}
}

func TestBufferReportsThatTheDiskIsFull(t *testing.T) {
	for name, appended := range map[string]int{"in the next call": 100, "at the end": 1} {
		t.Run(name, func(t *testing.T) {
			b := startBuffer(&slowFile{room: 1500}, make([]byte, 1000), 0, func() {}, func(int64) {})
			var err error
			for range appended {
				if err = b.append([][]byte{make([]byte, 1600)}); err != nil {
					break
				}
			}
			if flushed := b.flush(); !errors.Is(flushed, errFull) || appended > 1 && !errors.Is(err, errFull) {
				t.Errorf("append: %v, flush: %v", err, flushed)
			}
			if written := b.written.Load(); written > 1500 {
				t.Errorf("%d bytes are written, the disk took 1500", written)
			}
		})
	}
}
