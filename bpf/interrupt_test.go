//go:build linux

package bpf

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// A timer that wakes a thread on the CPU of a computing one is an interrupt's waking; one by a system call is not.
func TestWakingsByATimerAreAnInterrupts(t *testing.T) {
	random := make([]byte, 1<<20)
	for name, hog := range map[string]func(){
		"user": func() {},
		// unix.Getrandom stays in user mode: it goes by the vDSO.
		"kernel": func() {
			_, _, _ = unix.RawSyscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&random[0])), uintptr(len(random)), 0)
		},
	} {
		for how, byRunQueue := range map[string]bool{"as a recording does": false, "by the run queue": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				wakeByTimer(t, Options{countByRunQueue: byRunQueue}, hog, 250, func() {
					_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(time.Millisecond)}, nil)
				})
			})
			t.Run(name+"/soft interrupt "+how, func(t *testing.T) {
				if runtime.GOARCH != "amd64" {
					t.Skip("soft interrupts of a thread in the kernel are not detected on arm64 (docs/kernels.md)")
				}
				silent := loopback(t)
				closeAtEnd(t, silent)
				must(t, unix.SetsockoptTimeval(silent[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 1000}))
				wakeByTimer(t, Options{countByRunQueue: byRunQueue}, hog, 100, func() { _, _ = unix.Read(silent[0], make([]byte, 1)) })
			})
		}
	}
}

// A thread that sends to another one on this machine runs the soft interrupt that wakes the receiver: it is the waker.
func TestWakingsBySendersAreNoInterrupts(t *testing.T) {
	for _, o := range []Options{{}, {countByRunQueue: true}} {
		tracer := mustLoad(t, o)
		p := newPairOver(t, loopback(t), loopback(t))
		records := recording(t, tracer, func() { p.play(500, func(play func()) { play() }) })
		var all, flagged int
		for _, r := range records {
			if r.kind() == ringdata.KindWaking && (r.tid() == p.first && r.wakee() == p.second || r.tid() == p.second && r.wakee() == p.first) {
				all++
				if r.flags()&ringdata.FlagInterrupt != 0 {
					flagged++
				}
			}
		}
		if all < 200 || flagged > all/50 { // few are woken by what an interrupt runs
			t.Errorf("of %d wakings by the sender, %d are an interrupt's", all, flagged)
		}
	}
}

// loopback is a socket that receives what is sent with the other one.
func loopback(t *testing.T) (pair [2]int) {
	t.Helper()
	for i := range pair {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		pair[i] = fd
	}
	must(t, unix.Bind(pair[0], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	to, err := unix.Getsockname(pair[0])
	must(t, err)
	must(t, unix.Connect(pair[1], to))
	return pair
}

// wakeByTimer has a thread wait several times while another one works on the same CPU.
func wakeByTimer(t *testing.T, o Options, work func(), times int, wait func()) {
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
		for range times {
			wait()
		}
	})
	<-slept
	stop.Store(true)
	<-hogDone
	newPair(t).play(100, func(play func()) { play() })
	must(t, tracer.Disarm())

	var byTimer, flagged, all, own int
	for _, r := range drain(tracer) {
		if r.kind() != ringdata.KindWaking {
			continue
		}
		switch inInterrupt := r.flags()&ringdata.FlagInterrupt != 0; {
		case uint32(r.tid()) == hog && uint32(r.wakee()) == sleeper:
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
