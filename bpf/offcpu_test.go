//go:build linux

package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// return record: ids at the places of rec_return.stacks.
func (r record) returnUser() int64   { return r.u64(ringdata.ReturnStacks + ringdata.StacksUser) }
func (r record) returnKernel() int64 { return r.u64(ringdata.ReturnStacks + ringdata.StacksKernel) }

// sleeps has a thread of its own sleep n times for a while, and returns its id.
func sleeps(n int, each time.Duration) (tid int) {
	onThread(func() {
		tid = unix.Gettid()
		for range n {
			pause := unix.NsecToTimespec(each.Nanoseconds())
			_ = unix.Nanosleep(&pause, nil)
		}
	})
	return tid
}

// stackOf returns a thread's stack from /proc.
func stackOf(tid int) []byte {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stack", tid))
	return text
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for range 6000 {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen within a minute")
}

// mustLoadAt loads the programs to take stacks at a place; on a kernel without kprobes it skips the place that needs them.
func mustLoadAt(t *testing.T, o Options, place Place) *Tracer {
	t.Helper()
	o.OffCPU.Place = place
	if place == AtFinish || place == AtExit {
		probe, err := Load(o)
		if errors.Is(err, errNoProbe) || place == AtExit && errors.As(err, new(*Unsupported)) {
			t.Skipf("this kernel cannot: %v (docs/kernels.md)", err)
		}
		if err == nil {
			must(t, probe.Close())
		}
	}
	return mustLoad(t, o)
}

// schedulerClockError is by how much the scheduler's clock may be wrong: by a tick where the CPU's own is not stable.
func schedulerClockError() int64 {
	source, _ := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if name := strings.TrimSpace(string(source)); name == "hpet" || name == "acpi_pm" {
		return int64(5 * time.Millisecond)
	}
	return int64(time.Millisecond)
}

func TestReturnOfAThreadThatWasOffLongHasAStack(t *testing.T) {
	for _, place := range []Place{AnyPlace, AtExit, AtFinish} {
		t.Run(place.String(), func(t *testing.T) {
			tracer := mustLoadAt(t, Options{OffCPU: OffCPU{Stacks: Stacks{Kernel: true, User: true}, Min: 5 * time.Millisecond}}, place)
			if tracer.OffCPUPlace() == AtDeparture {
				t.Skip("this kernel takes stacks at the departure only (docs/kernels.md)")
			}
			least, slack := int64(5*time.Millisecond), schedulerClockError()
			short, long := 0, 0
			records := recording(t, tracer, func() {
				short = sleeps(20, time.Millisecond)
				long = sleeps(10, 10*time.Millisecond)
			})
			announced, returned := map[int]int{}, map[int]int{}
			waits := map[int]int{}     // by CPU, the thread whose return is announced
			left := map[int]int64{}    // when a thread left its CPU
			arrived := map[int]int64{} // when it came on it
			noUser, early := 0, 0
			for _, r := range records {
				switch {
				case r.is(ringdata.KindSwitch):
					// A hypervisor's own threads may come and go without records.
					if tid := waits[r.cpu()]; tid != 0 && tid == r.tid() {
						t.Errorf("no return of thread %d on CPU %d before its switch at %d", tid, r.cpu(), r.ts())
					}
					waits[r.cpu()] = 0
					isAnnounced := r.flags()&ringdata.FlagAnnounced != 0
					if isAnnounced {
						waits[r.cpu()] = r.next()
						announced[r.next()]++
					}
					left[r.tid()] = r.ts()
					if at := left[r.next()]; at != 0 && (r.next() == short || r.next() == long) {
						if off := r.ts() - at; !isAnnounced && off > least+slack {
							t.Errorf("a return after %d ns is not announced", off)
						}
						if since := r.ts() - arrived[r.next()]; isAnnounced && since < least-slack {
							early++
						}
					}
					arrived[r.next()] = r.ts()
				case r.is(ringdata.KindReturn):
					if waits[r.cpu()] != r.tid() {
						t.Errorf("a return at %d that no switch has announced", r.ts())
					}
					waits[r.cpu()] = 0
					if r.tid() == long && r.returnKernel() == 0 {
						t.Errorf("stacks %#x and %#x", r.returnUser(), r.returnKernel())
					}
					if r.tid() == long && r.returnUser() == 0 { // a page of its stack may be out
						noUser++
					}
					returned[r.tid()]++
				}
			}
			if early > 2 { // preempted on its way to sleep, a thread comes back without a new time of arrival
				t.Errorf("%d returns are announced although the thread came on its CPU less than %d ns before", early, least)
			}
			if announced[long] < 10 || announced[long] != returned[long] || noUser > announced[long]/5 {
				t.Errorf("%d announced and %d returned of 10 long times off, %d without a user stack", announced[long], returned[long], noUser)
			}
		})
	}
}

// Threads that block for a short time take no stacks, with any ids.
func TestShortTimesOffAreNotAnnouncedWhateverTheThreadIDs(t *testing.T) {
	const apart = 1 << 16
	allowPIDs(t, 3*apart)
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{Kernel: true, User: true}, Min: time.Second}})
	if tracer.OffCPUPlace() == AtDeparture {
		t.Skip("this kernel takes stacks at the departure only (docs/kernels.md)")
	}
	var pids [2]int
	records := recording(t, tracer, func() {
		onThread(func() {
			pin(0)
			p := newPair(t)
			var err error
			pids[0], err = forkAs(0, passRaw, uintptr(p.to[0]), uintptr(p.fro[1]))
			must(t, err)
			pids[1], err = forkAs(pids[0]+apart, passRaw, uintptr(p.fro[0]), uintptr(p.to[1]))
			must(t, err)
			_, err = unix.Write(p.to[1], []byte{1})
			must(t, err)
			waitFor(t, func() bool { return sleepsOf(pids[1]) > 200 })
		})
		kill(t, pids[0])
		kill(t, pids[1])
	})
	arrived := map[int]int64{}
	returns, announced := 0, 0
	for _, r := range records {
		if !r.is(ringdata.KindSwitch) || r.next() != pids[0] && r.next() != pids[1] {
			continue
		}
		if at := arrived[r.next()]; at != 0 && r.ts()-at < int64(time.Second/2) {
			returns++
			if r.flags()&ringdata.FlagAnnounced != 0 {
				announced++
			}
		}
		arrived[r.next()] = r.ts()
	}
	if returns < 20 || announced > returns/10 {
		t.Errorf("%d of %d returns after a short time are announced", announced, returns)
	}
}

// sleepsOf returns how often a process has left its CPU to wait.
func sleepsOf(pid int) (n int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
	_, _ = fmt.Sscan(string(rest), &n)
	return n
}

// allowPIDs lets process ids go up to a limit, for the time of the test.
func allowPIDs(t *testing.T, limit int) {
	t.Helper()
	const path = "/proc/sys/kernel/pid_max"
	was, err := os.ReadFile(path)
	must(t, err)
	if n, err := strconv.Atoi(strings.TrimSpace(string(was))); err == nil && n >= limit {
		return
	}
	must(t, os.WriteFile(path, []byte(strconv.Itoa(limit)), 0))
	t.Cleanup(func() { must(t, os.WriteFile(path, was, 0)) })
}

// passRaw passes each byte on, in a process that forkAs made.
//
//go:nosplit
func passRaw(from, to uintptr) {
	var b [1]byte
	for {
		_, _, _ = unix.RawSyscall(unix.SYS_READ, from, uintptr(unsafe.Pointer(&b)), 1)
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, to, uintptr(unsafe.Pointer(&b)), 1)
	}
}

func TestStackAtDepartureStandsInTheSwitch(t *testing.T) {
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{Kernel: true, User: true}, Place: AtDeparture}})
	tid := 0
	records := recording(t, tracer, func() { tid = sleeps(20, time.Millisecond) })
	n := 0
	for _, r := range records {
		if r.is(ringdata.KindSwitch) && r.tid() == tid && r.flags()&ringdata.FlagParts != 0 && r.u64(ringdata.SwitchSize+ringdata.StacksUser) != 0 && r.u64(ringdata.SwitchSize+ringdata.StacksKernel) != 0 {
			n++
		}
	}
	if n < 20 {
		t.Errorf("%d switches away from a thread that slept 20 times have its stacks", n)
	}
}

func TestWakingHasTheStackOfTheWaker(t *testing.T) {
	tracer := mustLoad(t, Options{Waker: Stacks{Kernel: true, User: true}})
	records := recording(t, tracer, func() { run(t, "true") })
	n := 0
	for _, r := range records {
		if (r.is(ringdata.KindWaking) || r.is(ringdata.KindWakeupNew)) && r.flags()&ringdata.FlagParts != 0 && r.u64(ringdata.WakingSize+ringdata.StacksKernel) != 0 {
			n++
		}
	}
	if n == 0 {
		t.Error("no waking has a kernel stack")
	}
}

// isAsleep is false for a thread that has only lost its CPU on its way (proc_pid_stat(5), the third field).
func isAsleep(tid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	return bytes.Contains(stat, []byte(") S "))
}

func TestBlockedThreadsHaveTheirStacks(t *testing.T) {
	for _, o := range []OffCPU{{Stacks: Stacks{Kernel: true}}, {Stacks: Stacks{User: true}}, {Stacks: Stacks{Kernel: true, User: true}}} {
		tracer := mustLoad(t, Options{OffCPU: o})
		var pipe [2]int
		must(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
		tids, done := make(chan int), make(chan struct{})
		go onThread(func() {
			tids <- unix.Gettid()
			_, _ = unix.Read(pipe[0], make([]byte, 1))
			close(done)
		})
		tid := <-tids
		waitFor(t, func() bool { return bytes.Contains(stackOf(tid), []byte("pipe_read")) && isAsleep(tid) })
		var list bytes.Buffer
		must(t, tracer.ReadBlocked(&list, now()))
		r, found := blockedRecord(list.Bytes(), tid)
		if !found || r.u32(ringdata.BlockedPID) != os.Getpid() || r.u32(ringdata.BlockedKernelCount) > 0 != o.Kernel || r.u32(ringdata.BlockedUserCount) > 0 != o.User {
			t.Errorf("%+v: found %v, kernel %d, user %d frames", o.Stacks, found, r.u32(ringdata.BlockedKernelCount), r.u32(ringdata.BlockedUserCount))
		}
		list.Reset()
		must(t, tracer.ReadBlocked(&list, 1))
		if _, found := blockedRecord(list.Bytes(), tid); found {
			t.Error("a thread that has run since has a stack")
		}
		_, err := unix.Write(pipe[1], []byte{0})
		must(t, err)
		<-done
		unix.Close(pipe[0])
		unix.Close(pipe[1])
	}
}

// blockedRecord finds the struct rec_blocked of a thread.
func blockedRecord(list []byte, tid int) (record, bool) {
	for len(list) >= 56 {
		r := record{bytes: list}
		size := ringdata.BlockedSize + 8*(r.u32(ringdata.BlockedKernelCount)+r.u32(ringdata.BlockedUserCount))
		if r.tid() == tid {
			return record{bytes: list[:size]}, true
		}
		list = list[size:]
	}
	return record{bytes: make([]byte, 56)}, false
}
