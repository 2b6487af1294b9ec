package sideband

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	perfBitKsymbol = 1 << 29 // perf_event_attr.ksymbol, since 5.1
	perfBitBuildID = 1 << 34 // perf_event_attr.build_id, since 5.12

	// Offsets in struct perf_event_mmap_page, include/uapi/linux/perf_event.h.
	pageHead = 1024
	pageTail = 1032

	sampleType = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_IDENTIFIER
	// sampleIDSize is what sampleType puts behind every record of our events.
	sampleIDSize = 32
)

// event is the side-band of one CPU: a perf event that counts nothing, and its ring.
type event struct {
	cpu  int
	fd   int
	mem  []byte
	data []byte
	stop int           // an eventfd: ends the CPU's thread
	done chan struct{} // closed when it has ended

	mu      sync.Mutex // of the reader's side
	closed  bool
	tail    uint64
	last    int64 // time of the last record, CLOCK_MONOTONIC ns
	told    tellings
	split   []byte // a record that the end of the ring has split
	pending []byte // records that were not drained yet
}

func openEvent(cpu, pages int) (*event, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample_type: sampleType,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark | perfBitKsymbol | perfBitBuildID,
		Clockid: unix.CLOCK_MONOTONIC,
		Wakeup:  1, // bytes: any record wakes who waits
		// Since 6.0: how many records did not fit, also those that no record tells because none came after them.
		Read_format: unix.PERF_FORMAT_LOST,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	e := &event{cpu: cpu, fd: fd, done: make(chan struct{})}
	if e.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	for ; ; pages /= 2 {
		e.mem, err = unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			e.data = e.mem[os.Getpagesize():]
			return e, nil
		}
		// Without CAP_IPC_LOCK, kernel.perf_event_mlock_kb is the most.
		if pages == 1 || !errors.Is(err, unix.EPERM) {
			unix.Close(fd)
			unix.Close(e.stop)
			return nil, fmt.Errorf("map its buffer: %w", err)
		}
	}
}

// read calls f with each record that is in the ring now. The bytes are valid until f returns.
func (e *event) read(f func(typ uint32, misc uint16, record []byte)) {
	head := atomic.LoadUint64((*uint64)(unsafe.Pointer(&e.mem[pageHead])))
	size := uint64(len(e.data))
	for head-e.tail >= 8 {
		at := e.tail % size
		header := *(*uint64)(unsafe.Pointer(&e.data[at]))
		typ, misc, length := uint32(header), uint16(header>>32), header>>48
		if length < 8 || length > head-e.tail {
			break // the kernel does not write such a thing
		}
		record := e.data[at:min(at+length, size)]
		if at+length > size {
			e.split = append(append(e.split[:0], record...), e.data[:at+length-size]...)
			record = e.split
		}
		f(typ, misc, record[8:])
		e.tail += length
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&e.mem[pageTail])), e.tail)
}

// untold is how many records did not fit that no record until then tells.
func (e *event) untold(until int64) (uint64, error) {
	var counts [16]byte // the event's value, and what was lost
	if _, err := unix.Read(e.fd, counts[:]); err != nil {
		return 0, fmt.Errorf("read how many mappings were not told: %w", err)
	}
	lost := binary.NativeEndian.Uint64(counts[8:])
	return lost - min(lost, e.told.sum(until)), nil
}

// untoldNow is untold of an event that may be in use, or closed by now.
func (e *event) untoldNow(until int64) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return 0, nil
	}
	return e.untold(until)
}

// stopThread returns when the CPU's thread has ended, which must have been started.
func (e *event) stopThread() {
	one := [8]byte{1}
	_, _ = unix.Write(e.stop, one[:])
	<-e.done
}

func (e *event) close() error {
	e.closed = true
	return errors.Join(unix.Munmap(e.mem), unix.Close(e.fd), unix.Close(e.stop))
}

// tellings are the records of lost ones: the last few with their times, CLOCK_MONOTONIC ns, and the sum of all before.
type tellings struct {
	before uint64
	last   []telling
}

type telling struct {
	at    int64
	count uint64
}

// maxTellings is more than come between the end of a window and the last look at the rings.
const maxTellings = 1024

func (t *tellings) add(at int64, count uint64) {
	if len(t.last) == maxTellings {
		t.before += t.last[0].count
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, telling{at, count})
}

// sum is how many they tell until a time.
func (t *tellings) sum(until int64) uint64 {
	sum := t.before
	for _, one := range t.last {
		if one.at <= until {
			sum += one.count
		}
	}
	return sum
}
