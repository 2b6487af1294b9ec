package sideband

import (
	"slices"
	"sync"
	"time"
)

const (
	// visitDeadline is how long is waited for one process. Most are read in 0.1 ms, one with 60,000 mappings in 50.
	visitDeadline = 20 * time.Millisecond
	// visitPatience is how long is waited for all that are late; then each is given briefDeadline.
	visitPatience = 200 * time.Millisecond
	briefDeadline = 2 * time.Millisecond
	// maxLate bounds the threads that wait for a process; beyond it processes are not read.
	maxLate = 256
)

// visitor reads what /proc tells of processes, and does not wait for those that hang: /proc/PID/maps, map_files and
// cmdline can be read only when nobody holds the process's mmap_lock for writing, which lasts minutes where a mapping
// waits for a file system. Such a process is read by a thread that is left behind with it, when it can be.
type visitor struct {
	mu      sync.Mutex
	late    map[int]bool // processes that are still being read
	skipped []int        // processes that were not read, because too many are late
}

// visit calls read with each process, from another goroutine; those that are left behind at the same time as others.
func (v *visitor) visit(pids []int, read func(pid int)) {
	patience := visitPatience
	var next, done chan int
	for _, pid := range pids {
		if next == nil {
			if v.isFull(pid) {
				continue
			}
			next, done = make(chan int), make(chan int, 1)
			go readEach(next, done, read)
		}
		next <- pid
		wait := max(min(visitDeadline, patience), briefDeadline)
		select {
		case <-done:
		case <-time.After(wait):
			patience -= wait
			v.leave(pid, next, done)
			next = nil
		}
	}
	if next != nil {
		close(next)
	}
	for ; patience > 0 && len(v.unread()) > 0; patience -= briefDeadline {
		time.Sleep(briefDeadline)
	}
}

func readEach(next <-chan int, done chan<- int, read func(pid int)) {
	for pid := range next {
		read(pid)
		done <- pid
	}
}

// leave lets a process be read by itself.
func (v *visitor) leave(pid int, next chan<- int, done <-chan int) {
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

// isFull notes that a process is not read if too many others are late.
func (v *visitor) isFull(pid int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.late) < maxLate {
		return false
	}
	v.skipped = append(v.skipped, pid)
	return true
}

// unread are the processes that have not been read so far.
func (v *visitor) unread() []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	pids := slices.Clone(v.skipped)
	for pid := range v.late {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
