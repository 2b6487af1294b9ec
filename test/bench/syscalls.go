package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

const callLoops = 2_000_000

// callLoop makes system calls on one CPU.
type callLoop struct {
	cpu, calls int
	perSecond  int // 0: as many as it can
	call       func()
}

func getppid() { _, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) }

func (l callLoop) seconds() (float64, error) {
	runtime.LockOSThread() // not unlocked: the thread ends with its goroutine, and its affinity with it
	var one unix.CPUSet
	one.Set(l.cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return 0, fmt.Errorf("run on CPU %d: %w", l.cpu, err)
	}
	began := time.Now()
	for i := range l.calls {
		l.call()
		if l.perSecond == 0 || i%1000 != 0 {
			continue
		}
		for due := time.Duration(i) * time.Second / time.Duration(l.perSecond); time.Since(began) < due; { // by the vDSO
		}
	}
	return time.Since(began).Seconds(), nil
}

// inThread runs it in a thread of its own.
type inThread struct{ callLoop }

func (l inThread) seconds() (s float64, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err = l.callLoop.seconds()
	}()
	<-done
	return s, err
}

// calls measures the recording of system calls.
func (b *bench) calls() error {
	if err := b.callPrograms(); err != nil {
		return err
	}
	if err := b.callSlowdown(); err != nil {
		return err
	}
	return b.callLosses()
}

func (b *bench) callPrograms() error {
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(zero)
	var byteRead [1]byte
	path := []byte("/nonexistent/file\x00")
	for _, w := range []struct {
		name, hold string
		call       func()
	}{
		{"getppid", "300", getppid},
		{"read of a file", "300", func() {
			_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(zero), uintptr(unsafe.Pointer(&byteRead[0])), 1)
		}},
		{"openat with a path of 17 bytes", "", func() {
			const cwd = ^uintptr(99) // AT_FDCWD
			_, _, _ = unix.RawSyscall6(unix.SYS_OPENAT, cwd, uintptr(unsafe.Pointer(&path[0])), unix.O_RDONLY, 0, 0, 0)
		}},
	} {
		var pairs []float64
		for range b.few() {
			runs := map[string][]float64{}
			work := inThread{callLoop{cpu: 1, calls: callLoops / 2, call: w.call}}
			if err := b.programRunsOf(runs, work, "--no-stacks", "-f", "syscall,no-sched,no-wakeup"); err != nil {
				return err
			}
			pairs = append(pairs, median(runs["sys_enter"])+median(runs["sys_exit"]))
		}
		row := Row{Name: "kernel programs for a system call, both together: " + w.name, Unit: "ns", Hold: w.hold, Runs: pairs,
			Command: fmt.Sprintf("wprof-record --stats --no-stacks -f syscall,no-sched,no-wakeup -d60s -o FILE beside 1,000,000 calls of %s on CPU 1", strings.Fields(w.name)[0]),
			Note:    "with twice the call and the kernel's own measurement, 58 to 65 ns each"}
		if w.hold != "" {
			row.Limit = 300
		}
		b.add(row)
	}
	return nil
}

// callSlowdown compares a loop of calls without tracing, under wprof-record and under perf, in turns.
func (b *bench) callSlowdown() error {
	var ours, perf []float64
	work := inThread{callLoop{cpu: 1, calls: callLoops, call: getppid}}
	for range b.pairs {
		before, err := work.seconds()
		if err != nil {
			return err
		}
		with, _, err := traced(nil, work, b.tool("wprof-record"), "-v", "--no-stacks", "-f", "syscall,no-sched,no-wakeup", "-d60s", "-o", filepath.Join(b.tmp, "calls.wprof"))
		if err != nil {
			return err
		}
		between, err := work.seconds()
		if err != nil {
			return err
		}
		peer, _, err := traced(nil, work, "perf", "record", "-B", "-N", "-a", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit", "-o", filepath.Join(b.tmp, "perf.data"))
		if err != nil {
			return err
		}
		ours, perf = append(ours, with/before), append(perf, peer/between)
	}
	const command = "2,000,000 calls of getppid on CPU 1, with and without "
	b.add(Row{Name: "slowdown of a program that only calls getppid, system calls recorded", Unit: "×", Runs: ours, Command: command + "wprof-record --no-stacks -f syscall,no-sched,no-wakeup -d60s -o FILE"})
	b.add(Row{Name: "slowdown of a program that only calls getppid, under perf record", Unit: "×", Runs: perf, Command: command + "perf record -B -N -a -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -o FILE"})
	return nil
}

// callLosses makes a million calls a second on every CPU.
func (b *bench) callLosses() error {
	var lost, rate, spooled, stored []float64
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return err
	}
	for range b.few() {
		file := filepath.Join(b.tmp, "calls.wprof")
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "-f", "syscall", "-d60s", "-o", file)
		if err != nil {
			return err
		}
		tracer.waitOpen()
		began := time.Now()
		var wg sync.WaitGroup
		errs := make([]error, len(cpus))
		for cpu := range cpus {
			wg.Go(func() {
				_, errs[cpu] = inThread{callLoop{cpu: cpu, calls: 2 * callLoops, perSecond: 1_000_000, call: getppid}}.seconds()
			})
		}
		wg.Wait()
		took := time.Since(began)
		if _, err := tracer.stop(); err != nil {
			return err
		}
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		lost = append(lost, float64(c.lost))
		rate = append(rate, float64(c.events)/took.Seconds()/1e6/float64(len(cpus)))
		spooled = append(spooled, float64(c.cost.GetSpoolBytes())/float64(c.events))
		stored = append(stored, float64(c.size)/float64(c.events))
	}
	const command = "wprof-record -f syscall -d60s -o FILE beside 4,000,000 calls of getppid on each CPU, 1,000,000 a second if it can"
	b.add(Row{Name: "events lost while every CPU makes system calls, default rings", Unit: "events", Hold: "0", Upper: true, Runs: lost, Command: command})
	b.add(Row{Name: "rate of events while every CPU makes system calls", Unit: "M events/s a CPU", Runs: rate, Command: command})
	b.add(Row{Name: "spool bytes per system call without arguments", Unit: "bytes", Runs: spooled, Command: command})
	b.add(Row{Name: "stored bytes per system call without arguments", Unit: "bytes", Runs: stored, Command: command})
	return nil
}
