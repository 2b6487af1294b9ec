//go:build linux

package bpf

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A timer wakes a thread on the CPU of one that only computes: the one that it interrupts has not woken anybody. Who
// wakes by a system call has.
func TestWakingsByATimerAreAnInterrupts(t *testing.T) {
	var allowed unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &allowed))
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	var one unix.CPUSet
	one.Set(cpu)
	pinned := func(run func()) (tid uint32, done chan struct{}) {
		tids := make(chan int)
		done = make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with its affinity
			defer close(done)
			_ = unix.SchedSetaffinity(0, &one)
			tids <- unix.Gettid()
			run()
		}()
		return uint32(<-tids), done
	}
	tracer := mustLoad(t, Options{})
	must(t, tracer.Arm())
	var stop atomic.Bool
	hog, hogDone := pinned(func() {
		for !stop.Load() {
		}
	})
	sleeper, slept := pinned(func() {
		for range 200 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(time.Millisecond)}, nil)
		}
	})
	<-slept
	stop.Store(true)
	<-hogDone
	newPair(t).play(100, func(play func()) { play() })
	must(t, tracer.Disarm())

	const interrupt = 32
	var byTimer, told, all, own int
	for _, r := range drain(tracer) {
		if r.kind() != recWaking {
			continue
		}
		switch flagged := r.flags()&interrupt != 0; {
		case uint32(r.u32(12)) == hog && uint32(r.u32(16)) == sleeper:
			byTimer++
			if flagged {
				told++
			}
		default:
			all++
			if !flagged {
				own++
			}
		}
	}
	if byTimer < 20 || told < byTimer*9/10 {
		t.Errorf("of %d wakings by the timer while the other thread computed, %d are an interrupt's", byTimer, told)
	}
	if own < 100 {
		t.Errorf("of %d other wakings, %d are no interrupt's", all, own)
	}
}
