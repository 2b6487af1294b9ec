//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// WatermarkSlackNs is to be subtracted from the time that was read before the producers' positions: only records that are
// older than that are certainly before these positions. A program publishes its reservation before it reads the
// clock, but the clock of the programs may differ by a microsecond from that of clock_gettime(2) while the kernel
// adjusts it.
const WatermarkSlackNs = 10_000

const (
	maxChunk    = 1 << 20
	chunkSlack  = 8 << 10  // CHUNK_SLACK in ring.h
	pythonSlack = 24 << 10 // where stacks have Python's frames
)

// ringControl mirrors struct ring in ring.h.
type ringControl struct {
	head uint64
	_    [7]uint64 // the programs' own
	tail uint64
	_    [7]uint64
}

// Ring is shared memory to which the programs write records, see ring.h.
//
// One goroutine may read it at a time; Producer and Consumer may be called by any.
type Ring struct {
	control *ringControl
	chunks  [][]byte // with the slack of each
	shift   int      // log2 of a chunk's bytes
}

// Producer returns the position up to which room is reserved.
func (r *Ring) Producer() uint64 { return atomic.LoadUint64(&r.control.head) }

// Consumer returns the position up to which room was released.
func (r *Ring) Consumer() uint64 { return atomic.LoadUint64(&r.control.tail) }

// Committed returns the committed records from the consumer's position up to the first uncommitted one, the end of the
// chunk or limit, a position that Producer returned. The bytes are those of the ring, with the header before
// each record; they stay valid until [Ring.Consume] releases them. from is the position of the first.
func (r *Ring) Committed(limit uint64) (data []byte, from uint64) {
	from = r.Consumer()
	size := uint64(1) << r.shift
	chunk := r.chunks[from>>r.shift%uint64(len(r.chunks))]
	start := from & (size - 1)
	end := min(start+limit-from, size)
	at := start
	for at < end {
		header := atomic.LoadUint64((*uint64)(unsafe.Pointer(&chunk[at])))
		room := ringdata.Room(uint32(header))
		if room == 0 {
			break
		}
		at += uint64(room)
	}
	return chunk[start:at:at], from
}

// Consume clears and releases the first n bytes that [Ring.Committed] returned; n must end at a record's end.
func (r *Ring) Consume(n int) {
	from := r.Consumer()
	start := from & (1<<r.shift - 1)
	clear(r.chunks[from>>r.shift%uint64(len(r.chunks))][start : start+uint64(n)])
	atomic.StoreUint64(&r.control.tail, from+uint64(n))
}

// rings is the mapped memory of all rings.
type rings struct {
	control, data []byte
	all           []*Ring
}

// chunksOf returns how many chunks a ring has, and log2 of a chunk's bytes.
func chunksOf(ringBytes int) (count, shift int) {
	size := min(ringBytes, maxChunk)
	return ringBytes / size, bits.TrailingZeros(uint(size))
}

// slack is the room after each chunk: more than the largest record.
func (o *Options) slack() int {
	if o.interprets() {
		return pythonSlack
	}
	return chunkSlack
}

func mapRings(control, data *ebpf.Map, ringBytes, slack int) (*rings, error) {
	count, shift := chunksOf(ringBytes)
	stride := 1<<shift + slack
	n := int(control.MaxEntries())
	r := &rings{}
	var err error
	if r.control, err = mapShared(control, n*int(unsafe.Sizeof(ringControl{}))); err != nil {
		return nil, fmt.Errorf("map the positions of %d rings: %w", n, err)
	}
	if r.data, err = mapShared(data, n*count*stride); err != nil {
		return nil, errors.Join(fmt.Errorf("map %d rings of %d bytes: %w", n, ringBytes, err), r.close())
	}
	controls := unsafe.Slice((*ringControl)(unsafe.Pointer(&r.control[0])), n)
	for i := range controls {
		one := &Ring{control: &controls[i], shift: shift}
		for c := range count {
			at := (i*count + c) * stride
			one.chunks = append(one.chunks, r.data[at:at+stride])
		}
		r.all = append(r.all, one)
	}
	return r, nil
}

func mapShared(m *ebpf.Map, size int) ([]byte, error) {
	return unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (r *rings) close() error {
	var errs []error
	for _, memory := range [][]byte{r.control, r.data} {
		if memory != nil {
			errs = append(errs, unix.Munmap(memory))
		}
	}
	return errors.Join(errs...)
}
