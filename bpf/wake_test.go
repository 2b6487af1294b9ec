//go:build linux

package bpf

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The timer wakes who waits for a ring that has filled up to a quarter, and not before.
func TestReaderIsWokenWhenARingFills(t *testing.T) {
	tracer := mustLoad(t, Options{RingBytes: 4 << 20, Sample: Sample{Period: time.Millisecond}})
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	must(t, err)
	defer unix.Close(epoll)
	for _, r := range tracer.Rings() {
		must(t, unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, r.FD(), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(r.FD())}))
	}
	must(t, tracer.Arm())
	defer func() { must(t, tracer.Disarm()) }()
	takeTurns(t)
	var events [8]unix.EpollEvent
	n := 0
	for deadline := time.Now().Add(30 * time.Second); n == 0 && time.Now().Before(deadline); {
		n, _ = unix.EpollWait(epoll, events[:], 1000)
	}
	if n == 0 {
		t.Fatal("nobody was woken")
	}
	fullest := 0.0
	for _, r := range tracer.Rings() {
		fullest = max(fullest, float64(r.Producer()-r.Consumer())/float64(r.Bytes()))
	}
	if fullest < 1.0/wakeShare {
		t.Errorf("the reader was woken when %.1f%% of the fullest ring were used", 100*fullest)
	}
}

// takeTurns is two threads of one CPU that hand it to each other until the test ends.
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
