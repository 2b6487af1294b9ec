package sideband

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
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
	// sampleIDSize is the size of the fields that sampleType adds to every record of our events.
	sampleIDSize = 32

	// A CPU's thread is woken when 1/wakeShare of its buffer is full. Each new thread, process, name and mapping makes a
	// record: waking for each of them made creating a thread take twice as long.
	wakeShare = 4
	// maxRequests bounds the files of a CPU's records that wait to be opened.
	maxRequests = 1024
)

// event is the side-band of one CPU: a perf event that counts nothing, and its buffer.
type event struct {
	cpu      int
	fd       int
	programs int // a second event with the same buffer, whose records wake the thread: see [Config.OnPrograms]
	mem      []byte
	data     []byte
	stop     int           // an eventfd: ends the CPU's thread
	stopping atomic.Bool   // the thread must not use the descriptors any more
	done     chan struct{} // closed when it has ended

	mu       sync.Mutex // of the reader's side; never held while a file is opened
	closed   bool
	tail     uint64
	last     int64 // time of the last record, CLOCK_MONOTONIC ns
	reported lossReports
	split    []byte // a record that the end of the buffer has split
	pending  []byte // records that were not drained yet
	wanted   []request
	program  bool // a program was reported since the thread last read the buffer
}

// openEvent creates a CPU's event with a buffer of a number of pages, or of fewer if kernel.perf_event_mlock_kb, the limit
// without CAP_IPC_LOCK, allows no more.
func openEvent(cpu, pages int) (*event, error) {
	for ; ; pages /= 2 {
		e, err := openEventOf(cpu, pages)
		if pages == 1 || !errors.Is(err, unix.EPERM) || !errors.Is(err, errMapBuffer) {
			return e, err
		}
	}
}

var errMapBuffer = errors.New("map its buffer")

func openEventOf(cpu, pages int) (made *event, err error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample_type: sampleType,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark | perfBitKsymbol | perfBitBuildID,
		Clockid: unix.CLOCK_MONOTONIC,
		Wakeup:  uint32(pages * os.Getpagesize() / wakeShare),
		// Since 6.0: the number of lost records, including those that no later record reported.
		Read_format: unix.PERF_FORMAT_LOST,
	}
	e := &event{cpu: cpu, fd: -1, programs: -1, stop: -1, done: make(chan struct{})}
	defer func() {
		if err != nil {
			_ = e.close()
		}
	}()
	if e.fd, err = unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC); err != nil {
		return nil, err
	}
	if e.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	if e.mem, err = unix.Mmap(e.fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("%w: %w", errMapBuffer, err)
	}
	e.data = e.mem[os.Getpagesize():]
	return e, e.openPrograms()
}

// openPrograms creates the event for new programs. Each of its records wakes the thread that waits for the buffer.
func (e *event) openPrograms() (err error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_BPF_OUTPUT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_RAW, Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC, Sample: 1, Wakeup: 1,
	}
	if e.programs, err = unix.PerfEventOpen(&attr, -1, e.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC); err != nil {
		return err
	}
	if err = unix.IoctlSetInt(e.programs, unix.PERF_EVENT_IOC_SET_OUTPUT, e.fd); err != nil {
		return fmt.Errorf("report new programs: %w", err)
	}
	return nil
}

// read calls f with each record that is in the buffer now. The bytes are valid until f returns.
func (e *event) read(f func(typ uint32, misc uint16, record []byte)) {
	head := atomic.LoadUint64((*uint64)(unsafe.Pointer(&e.mem[pageHead])))
	size := uint64(len(e.data))
	for head-e.tail >= 8 {
		at := e.tail % size
		header := *(*uint64)(unsafe.Pointer(&e.data[at]))
		typ, misc, length := uint32(header), uint16(header>>32), header>>48
		if length < 8 || length > head-e.tail {
			break // the kernel does not write such a record
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

// unreported returns the number of lost records that no record before a time has reported; 0 if the event is closed.
func (e *event) unreported(until int64) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return 0, nil
	}
	var counts [16]byte // the event's value, and what was lost
	if _, err := unix.Read(e.fd, counts[:]); err != nil {
		return 0, fmt.Errorf("read the number of lost mappings: %w", err)
	}
	lost := binary.NativeEndian.Uint64(counts[8:])
	return lost - min(lost, e.reported.sum(until)), nil
}

// stopSoon makes the CPU's thread end, as soon as it is not opening a file.
func (e *event) stopSoon() {
	e.stopping.Store(true)
	one := [8]byte{1}
	_, _ = unix.Write(e.stop, one[:])
}

// stopThread returns when the CPU's thread, which must have been started, has ended, or at the deadline: then it is in a
// system call that opens a file, and does not use the event when that returns.
func (e *event) stopThread(deadline <-chan time.Time) {
	e.stopSoon()
	select {
	case <-e.done:
	case <-deadline:
	}
}

func (e *event) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	if e.mem != nil {
		errs = append(errs, unix.Munmap(e.mem))
	}
	for _, fd := range []int{e.fd, e.programs, e.stop} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// lossReports are the records about lost records: the last ones with their times, CLOCK_MONOTONIC ns, and the sum of all before.
type lossReports struct {
	before uint64
	last   []lossReport
}

type lossReport struct {
	at    int64
	count uint64
}

// maxLossReports is more than arrive between the end of a window and the last read of the buffers.
const maxLossReports = 1024

func (t *lossReports) add(at int64, count uint64) {
	if len(t.last) == maxLossReports {
		t.before += t.last[0].count
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, lossReport{at, count})
}

// sum returns the number reported until a time.
func (t *lossReports) sum(until int64) uint64 {
	sum := t.before
	for _, one := range t.last {
		if one.at <= until {
			sum += one.count
		}
	}
	return sum
}
