//go:build linux

package bpf

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The timer wakes the reader when a ring is a quarter full, and not before.
func TestReaderIsWokenWhenARingFills(t *testing.T) {
	tracer := mustLoad(t, Options{RingBytes: 4 << 20, Sample: Sample{Period: time.Millisecond}})
	must(t, tracer.Arm())
	defer func() { must(t, tracer.Disarm()) }()
	takeTurns(t)
	wakeups := tracer.Wakeups()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(wakeups.FD()), Events: unix.POLLIN}}, 30_000); n != 1 {
		t.Fatalf("the reader was not woken: %d, %v", n, err)
	}
	if used := fullest(tracer); used < 1.0/wakeShare {
		t.Errorf("the reader was woken when %.1f%% of the fullest ring were used", 100*used)
	}
	drain(tracer)
	wakeups.Take()
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(wakeups.FD()), Events: unix.POLLIN}}, 0)
	if used := fullest(tracer); n != 0 && used < 1.0/wakeShare { // on a busy machine it may have filled meanwhile
		t.Errorf("the reader is woken again when %.1f%% of the fullest ring are used", 100*used)
	}
}

// fullest is the share of the fullest ring that is used.
func fullest(t *Tracer) (share float64) {
	for _, r := range t.Rings() {
		share = max(share, float64(r.Producer()-r.Consumer())/float64(t.options.RingBytes))
	}
	return share
}

// takeTurns runs two threads on one CPU that yield it to each other until the test ends.
func takeTurns(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	for range 2 {
		go func() {
			runtime.LockOSThread()
			var cpu unix.CPUSet
			cpu.Set(0)
			_ = unix.SchedSetaffinity(0, &cpu)
			for {
				select {
				case <-stop:
					return
				default:
					for range 1000 {
						_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
					}
				}
			}
		}()
	}
}
