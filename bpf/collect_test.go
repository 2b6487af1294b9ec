//go:build linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
	"wprof/internal/ringdata"
)

// record is a copy of one record, and where it stood.
type record struct {
	bytes []byte
	ring  int
	at    uint64
}

func (r record) ts() int64        { return int64(binary.NativeEndian.Uint64(r.bytes[ringdata.HdrTS:])) }
func (r record) kind() uint8      { return r.bytes[ringdata.HdrKind] }
func (r record) flags() uint8     { return r.bytes[ringdata.HdrFlags] }
func (r record) cpu() int         { return int(binary.NativeEndian.Uint16(r.bytes[ringdata.HdrCPU:])) }
func (r record) tid() int         { return r.u32(ringdata.HdrTID) }
func (r record) u32(at int) int   { return int(binary.NativeEndian.Uint32(r.bytes[at:])) }
func (r record) u64(at int) int64 { return int64(binary.NativeEndian.Uint64(r.bytes[at:])) }
func (r record) text(at, n int) string {
	s, _, _ := bytes.Cut(r.bytes[at:at+n], []byte{0})
	return string(s)
}

// identAt is the offset of the identity in every record that has one.
const identAt = ringdata.TaskIdent

func (r record) next() int         { return r.u32(ringdata.SwitchNextTID) }
func (r record) wakee() int        { return r.u32(ringdata.WakingWakeeTID) }
func (r record) identTID() int     { return r.u32(identAt + ringdata.IdentTID) }
func (r record) identPID() int     { return r.u32(identAt + ringdata.IdentPID) }
func (r record) identPPID() int    { return r.u32(identAt + ringdata.IdentPPID) }
func (r record) identFlags() int   { return r.u32(identAt + ringdata.IdentTaskFlags) }
func (r record) identComm() string { return r.text(identAt+ringdata.IdentComm, ringdata.IdentCommSize) }
func (r record) identLeader() string {
	return r.text(identAt+ringdata.IdentProcessComm, ringdata.IdentProcessCommSize)
}

// Tests rename threads; the process's own name is that of the main thread, which this keeps for the main goroutine.
func init() { runtime.LockOSThread() }

func mustLoad(t *testing.T, o Options) *Tracer {
	t.Helper()
	tracer, err := Load(o)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	t.Cleanup(func() {
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	})
	return tracer
}

// drain reads everything that is committed.
func drain(tracer *Tracer) []record {
	var all []record
	for i, ring := range tracer.Rings() {
		for limit := ring.Producer(); ; {
			data, at := ring.Committed(limit)
			if len(data) == 0 {
				break
			}
			all = append(all, decode(decoder(tracer, i), data, i, at)...)
			ring.Consume(len(data))
		}
	}
	return all
}

// decoders are those of each tracer's rings, kept from one drain to the next.
var decoders sync.Map

func decoder(tracer *Tracer, ring int) *ringdata.Decoder {
	type key struct {
		tracer *Tracer
		ring   int
	}
	d, _ := decoders.LoadOrStore(key{tracer, ring}, &ringdata.Decoder{CPU: uint16(ring)})
	return d.(*ringdata.Decoder)
}

func decode(d *ringdata.Decoder, data []byte, ring int, at uint64) (all []record) {
	var b []byte // reused, so that a ring is drained faster than it fills
	for len(data) > 0 {
		var n int
		b, n = d.Append(b[:0], data)
		if n <= 0 {
			panic("a ring holds no record where one should begin")
		}
		if len(b) > 0 {
			all = append(all, record{slices.Clone(b[ringdata.HeaderBytes:]), ring, at})
		}
		at += uint64(n)
		data = data[n:]
	}
	return all
}

// recording runs do with the window open and returns the records ordered by time.
func recording(t *testing.T, tracer *Tracer, do func()) []record {
	t.Helper()
	return recordingUntil(t, tracer, do, nil)
}

// recordingUntil keeps the window open after do until the records are enough, for ten seconds at most; enough may be nil.
func recordingUntil(t *testing.T, tracer *Tracer, do func(), enough func([]record) bool) []record {
	t.Helper()
	waits := enough != nil
	stop, reached, done := make(chan struct{}), make(chan struct{}, 1), make(chan []record)
	go func() {
		var all []record
		for {
			select {
			case <-stop:
				done <- append(all, drain(tracer)...)
				return
			case <-time.After(5 * time.Millisecond):
				all = append(all, drain(tracer)...)
			}
			if enough != nil && enough(all) {
				enough = nil
				reached <- struct{}{}
			}
		}
	}()
	must(t, tracer.Arm())
	do()
	if waits {
		select {
		case <-reached:
		case <-time.After(10 * time.Second):
		}
	}
	must(t, tracer.Disarm())
	close(stop)
	all := <-done
	slices.SortStableFunc(all, func(a, b record) int { return int(a.ts() - b.ts()) })
	for _, r := range all {
		if r.kind() == ringdata.KindLost {
			t.Fatalf("records were lost: %v", r)
		}
	}
	if left := tracer.TailLosses(); len(left) > 0 {
		t.Fatalf("records were lost: %v", left)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func count[R any](records []R, keep func(R) bool) int {
	n := 0
	for _, r := range records {
		if keep(r) {
			n++
		}
	}
	return n
}

func now() int64 { return proc.Monotonic() }

// switches of the calling thread so far, and a time for which the number holds.
func switches() (n, at int64) {
	var before, after unix.Rusage
	for {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
		at = now()
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
		if n = after.Nvcsw + after.Nivcsw; n == before.Nvcsw+before.Nivcsw {
			return n, at
		}
	}
}

// departure is a switch away from a thread. It is unknown how the thread came if it followed one of process 1, whose
// departures some virtual machines' kernels do not report (docs/kernels.md).
type departure struct {
	record
	unknown bool
}

// leaving returns the departures of a thread after a time.
func leaving(records []record, tid int, after int64) []departure {
	var all []departure
	last := map[int]int{}
	for _, r := range records {
		if r.kind() != ringdata.KindSwitch {
			continue
		}
		before, known := last[r.cpu()]
		if r.tid() == tid && r.ts() > after {
			all = append(all, departure{r, known && before != tid && ofProcess1(before)})
		}
		last[r.cpu()] = r.next()
	}
	return all
}

func ofProcess1(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/1/task/%d", tid))
	return err == nil
}

// onThread runs do on a thread of its own, which ends with it, and returns its thread id.
func onThread(do func()) (tid int) {
	var ended sync.WaitGroup
	ended.Add(1)
	go func() {
		defer ended.Done()
		runtime.LockOSThread() // without an unlock: the thread ends
		tid = unix.Gettid()
		do()
	}()
	ended.Wait()
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			return tid
		}
		time.Sleep(time.Millisecond)
	}
}

// pair is two threads that pass a byte back and forth through pipes.
type pair struct {
	first, second int // thread ids
	to, fro       [2]int
	names         [2]string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	var to, fro [2]int
	must(t, unix.Pipe2(to[:], unix.O_CLOEXEC))
	must(t, unix.Pipe2(fro[:], unix.O_CLOEXEC))
	return newPairOver(t, to, fro)
}

func newPairOver(t *testing.T, to, fro [2]int) *pair {
	t.Helper()
	closeAtEnd(t, to)
	closeAtEnd(t, fro)
	return &pair{names: [2]string{"wp-first", "wp-second"}, to: to, fro: fro}
}

func closeAtEnd(t *testing.T, fds [2]int) {
	t.Cleanup(func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	})
}

// play passes the byte rounds times; around runs on the first thread and calls its argument for that.
func (p *pair) play(rounds int, around func(play func())) {
	ready := make(chan struct{})
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		runtime.LockOSThread()
		setName(p.names[1])
		p.second = unix.Gettid()
		close(ready)
		pass(p.to[0], p.fro[1])
	}()
	<-ready
	go func() {
		defer both.Done()
		runtime.LockOSThread()
		setName(p.names[0])
		p.first = unix.Gettid()
		around(func() {
			b := []byte{1}
			for range rounds {
				_, _ = unix.Write(p.to[1], b)
				_, _ = unix.Read(p.fro[0], b)
			}
		})
		_, _ = unix.Write(p.to[1], []byte{0})
	}()
	both.Wait()
}

// pass answers each byte until it is 0.
func pass(from, to int) {
	for b := []byte{1}; b[0] != 0; {
		_, _ = unix.Read(from, b)
		_, _ = unix.Write(to, b)
	}
}

func setName(name string) {
	_ = os.WriteFile("/proc/thread-self/comm", []byte(name), 0)
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}
