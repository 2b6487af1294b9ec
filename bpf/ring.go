//go:build linux

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// What stands before each record in a ring: its length with these two bits, then its page offset, 4 bytes each; see
// struct bpf_ringbuf_hdr in kernel/bpf/ringbuf.c. A record takes up a multiple of 8 bytes.
const (
	HeaderBytes = 8
	Busy        = 1 << 31 // not committed yet
	Discarded   = 1 << 30 // to be skipped
)

// WatermarkSlackNs is to be taken off the time that was noted before the producers' positions were read: only what is
// older than that stands before these positions for certain. A program makes its room known before it reads the
// clock, but the store may still be in its CPU's store buffer then, and the clock of the programs may differ by a
// microsecond from that of clock_gettime(2) while the kernel adjusts it.
const WatermarkSlackNs = 10_000

// Ring is a ring buffer as the kernel shares it with us: a page with the consumer's position that is ours to write,
// a page with the producer's, and the data, mapped twice in a row so that no record is broken at the end.
//
// One goroutine may read it at a time; Producer and Consumer may be called by any.
type Ring struct {
	fd      int
	control []byte
	shared  []byte
	data    []byte
	mask    uint64
}

func newRing(m *ebpf.Map) (*Ring, error) {
	size, page := int(m.MaxEntries()), unix.Getpagesize()
	control, err := unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the consumer page of a ring: %w", err)
	}
	shared, err := unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Munmap(control)
		return nil, fmt.Errorf("map a ring of %d bytes: %w", size, err)
	}
	fd, err := unix.FcntlInt(uintptr(m.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep a ring open: %w", err), unix.Munmap(control), unix.Munmap(shared))
	}
	return &Ring{fd: fd, control: control, shared: shared, data: shared[page:], mask: uint64(size) - 1}, nil
}

// FD is for epoll(7) with EPOLLET: an edge is when the ring fills, see [Options.WakesReader].
func (r *Ring) FD() int { return r.fd }

// Bytes is the size of the ring.
func (r *Ring) Bytes() int { return int(r.mask) + 1 }

// Producer is the position up to which room is reserved.
func (r *Ring) Producer() uint64 { return atomic.LoadUint64(position(r.shared)) }

// Consumer is the position up to which room was given back.
func (r *Ring) Consumer() uint64 { return atomic.LoadUint64(position(r.control)) }

// Committed returns the committed records from the consumer's position up to the first that is not, or to limit, a
// position that Producer returned. The bytes are those of the ring, with the header before each record; they stay
// valid until [Ring.Consume] gives them back. from is the position of the first.
func (r *Ring) Committed(limit uint64) (data []byte, from uint64) {
	from = r.Consumer()
	start := from & r.mask
	at := from
	for at < limit {
		header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[at&r.mask])))
		if header&Busy != 0 {
			break
		}
		at += recordRoom(header)
	}
	return r.data[start : start+(at-from) : start+(at-from)], from
}

// Consume gives back the first n bytes of what [Ring.Committed] returned; n must end at a record's end.
func (r *Ring) Consume(n int) {
	atomic.StoreUint64(position(r.control), r.Consumer()+uint64(n))
}

func (r *Ring) close() error {
	return errors.Join(unix.Munmap(r.control), unix.Munmap(r.shared), unix.Close(r.fd))
}

func position(page []byte) *uint64 { return (*uint64)(unsafe.Pointer(&page[0])) }

func recordRoom(header uint32) uint64 {
	length := uint64(header &^ (Busy | Discarded))
	return (length + HeaderBytes + 7) &^ 7
}

// NextRecord takes the first record off data, which [Ring.Committed] returned: what stands between its header and the
// next one, nil when it was discarded.
func NextRecord(data []byte) (record, rest []byte) {
	header := binary.NativeEndian.Uint32(data)
	room := recordRoom(header)
	if header&Discarded == 0 {
		record = data[HeaderBytes : HeaderBytes+header&^Busy]
	}
	return record, data[room:]
}
