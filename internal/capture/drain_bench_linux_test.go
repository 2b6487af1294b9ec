package capture

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// filledRing is a ring of committed records; producer says how many of them have been written.
type filledRing struct {
	data               []byte // twice in a row, as the kernel maps it
	producer, consumer uint64
}

// switchBytes is the length of most records.
const switchBytes = 8

func newFilledRing(size int) *filledRing {
	r := &filledRing{data: make([]byte, 2*size)}
	for at := 0; at < len(r.data); at += 8 {
		binary.NativeEndian.PutUint32(r.data[at:], switchBytes) // wherever a round ends, the next one begins with a record
	}
	return r
}

func (r *filledRing) Producer() uint64 { return r.producer }
func (r *filledRing) Consumer() uint64 { return r.consumer }
func (r *filledRing) Consume(n int)    { r.consumer += uint64(n) }

// Committed reads the header of each record, as a [bpf.Ring] does.
func (r *filledRing) Committed(limit uint64) (run []byte, from uint64) {
	size := uint64(len(r.data) / 2)
	start, end := r.consumer%size, r.consumer%size
	for limit-r.consumer > end-start {
		header := binary.NativeEndian.Uint32(r.data[end:])
		end += uint64(ringdata.Room(header))
	}
	return r.data[start:end], r.consumer
}

// BenchmarkDrain measures the draining thread with the rings of a machine of 256 CPUs: 128 rings of 8 MiB, with a megabyte of
// records each in every round.
func BenchmarkDrain(b *testing.B) {
	const rings, each = 128, 1 << 20 / (ringdata.HeaderBytes + switchBytes) * (ringdata.HeaderBytes + switchBytes)
	var all []ring
	for range rings {
		all = append(all, newFilledRing(8<<20))
	}
	writer, err := spool.CreateUnlinked(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer writer.Close()
	if err := writer.Begin(spool.Header{Session: &format.Session{}, Rings: rings}); err != nil {
		b.Fatal(err)
	}
	d := newDrainer(all, 8<<20, writer)
	b.SetBytes(rings * each)
	before := cpuTime(b)
	b.ResetTimer()
	for range b.N {
		for _, r := range all {
			r.(*filledRing).producer += each
		}
		if _, all, err := d.Round(); err != nil || !all {
			b.Fatal(all, err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/(rings*each/(ringdata.HeaderBytes+switchBytes)), "cpu-ns/record")
}

// cpuTime is the CPU time of this process, ns.
func cpuTime(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
