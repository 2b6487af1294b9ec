package sideband

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// visitDeadline is the time to wait for one process. Most are read in 0.1 ms, one with 60,000 mappings in 50 ms.
	visitDeadline = 20 * time.Millisecond
	// lateLimit is the time to wait for all late processes together; after that each gets briefDeadline.
	lateLimit     = 200 * time.Millisecond
	briefDeadline = 2 * time.Millisecond
	// maxLate bounds the threads that wait for a process; with so many, no more processes are read.
	maxLate = 256
)

// visitor reads the files of processes in /proc without waiting for those that hang: reading /proc/PID/maps, map_files and
// cmdline needs the process's mmap_lock, which a mapping that waits for a file system holds for minutes. Such a process has its
// own goroutine, which reads it when it can.
type visitor struct {
	mu      sync.Mutex
	late    map[int]bool // processes that are still being read
	skipped map[int]bool // processes that the last visit did not read, because too many were late
}

// visit calls read with each process, from other goroutines: several at a time if some are late. missed is set for
// processes that the previous visit has skipped.
func (v *visitor) visit(pids []int, read func(pid int, missed bool)) {
	v.mu.Lock()
	missed := v.skipped
	v.skipped = map[int]bool{}
	v.mu.Unlock()
	left := lateLimit
	var next, done chan int
	for _, pid := range pids {
		if next == nil {
			if v.isFull(pid) {
				continue
			}
			next, done = make(chan int), make(chan int, 1)
			go readEach(next, done, func(pid int) { read(pid, missed[pid]) })
		}
		next <- pid
		wait := max(min(visitDeadline, left), briefDeadline)
		select {
		case <-done:
		case <-time.After(wait):
			left -= wait
			v.abandon(pid, next, done)
			next = nil
		}
	}
	if next != nil {
		close(next)
	}
	for ; left > 0 && len(v.unread()) > 0; left -= briefDeadline {
		time.Sleep(briefDeadline)
	}
}

func readEach(next <-chan int, done chan<- int, read func(pid int)) {
	for pid := range next {
		read(pid)
		done <- pid
	}
}

// abandon stops waiting for a goroutine that still reads a process.
func (v *visitor) abandon(pid int, next chan<- int, done <-chan int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.late == nil {
		v.late = map[int]bool{}
	}
	v.late[pid] = true
	go func() {
		<-done
		close(next)
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.late, pid)
	}()
}

// isFull reports whether too many processes are late, and records that this one is skipped then.
func (v *visitor) isFull(pid int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.late) < maxLate {
		return false
	}
	v.skipped[pid] = true
	return true
}

// unread returns the processes that have not been read so far.
func (v *visitor) unread() []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	pids := slices.AppendSeq(slices.Collect(maps.Keys(v.skipped)), maps.Keys(v.late))
	slices.Sort(pids)
	return slices.Compact(pids)
}
