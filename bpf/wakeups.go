//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Wakeups is a kernel ring buffer without records, by which kernel programs wake a thread: see ring.h. One goroutine may use it at a
// time.
type Wakeups struct {
	fd       int
	consumer []byte
	producer []byte
}

func mapWakeups(m *ebpf.Map) (*Wakeups, error) {
	page := unix.Getpagesize()
	consumer, err := unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the consumer page of the wakeups: %w", err)
	}
	producer, err := unix.Mmap(m.FD(), int64(page), page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the producer page of the wakeups: %w", err), unix.Munmap(consumer))
	}
	return &Wakeups{fd: m.FD(), consumer: consumer, producer: producer}, nil
}

// FD is ready for poll(2) from a program's wakeup until [Wakeups.Take].
func (w *Wakeups) FD() int { return w.fd }

// Take makes FD not ready, until the next wakeup.
func (w *Wakeups) Take() {
	position := func(page []byte) *uint64 { return (*uint64)(unsafe.Pointer(&page[0])) }
	atomic.StoreUint64(position(w.consumer), atomic.LoadUint64(position(w.producer)))
}

func (w *Wakeups) close() error { return errors.Join(unix.Munmap(w.consumer), unix.Munmap(w.producer)) }
