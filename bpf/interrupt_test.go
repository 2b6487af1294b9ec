//go:build linux

package bpf

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A timer that wakes a thread on the CPU of a computing one is an interrupt's waking; one by a system call is not.
func TestWakingsByATimerAreAnInterrupts(t *testing.T) {
	random := make([]byte, 1<<20)
	for name, hog := range map[string]func(){
		"user":   func() {},
		"kernel": func() { _, _ = unix.Getrandom(random, 0) },
	} {
		for how, byRunQueue := range map[string]bool{"as a recording does": false, "by the run queue": true} {
			t.Run(name+"/"+how, func(t *testing.T) { wakeByTimer(t, Options{countByRunQueue: byRunQueue}, hog) })
		}
	}
}

func wakeByTimer(t *testing.T, o Options, work func()) {
	var allowed unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &allowed))
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	var one unix.CPUSet
	one.Set(cpu)
	tracer := mustLoad(t, o)
	must(t, tracer.Arm())
	var stop atomic.Bool
	hog, hogDone := pinned(&one, func() {
		for !stop.Load() {
			work()
		}
	})
	sleeper, slept := pinned(&one, func() {
		for range 600 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(time.Millisecond)}, nil)
		}
	})
	<-slept
	stop.Store(true)
	<-hogDone
	newPair(t).play(100, func(play func()) { play() })
	must(t, tracer.Disarm())

	const interrupt = 32
	var byTimer, flagged, all, own int
	for _, r := range drain(tracer) {
		if r.kind() != recWaking {
			continue
		}
		switch inInterrupt := r.flags()&interrupt != 0; {
		case uint32(r.u32(12)) == hog && uint32(r.u32(16)) == sleeper:
			byTimer++
			if inInterrupt {
				flagged++
			}
		default:
			all++
			if !inInterrupt {
				own++
			}
		}
	}
	if byTimer < 20 || flagged < byTimer*9/10 {
		t.Errorf("of %d wakings by the timer while the other thread computed, %d are an interrupt's", byTimer, flagged)
	}
	if own < 100 {
		t.Errorf("of %d other wakings, %d are no interrupt's", all, own)
	}
}

// pinned runs a function on a thread of its own that stays on some CPUs.
func pinned(cpus *unix.CPUSet, run func()) (tid uint32, done chan struct{}) {
	tids := make(chan int)
	done = make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its affinity
		defer close(done)
		_ = unix.SchedSetaffinity(0, cpus)
		tids <- unix.Gettid()
		run()
	}()
	return uint32(<-tids), done
}
