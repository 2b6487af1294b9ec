package sideband

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// A process that hangs is left behind, and read when it can be; all others are read.
func TestVisitLeavesHungProcesses(t *testing.T) {
	var v visitor
	var mu sync.Mutex
	var read []int
	unblock := make(chan struct{})
	v.visit([]int{1, 2, 3, 4}, func(pid int, _ bool) {
		if pid == 2 || pid == 4 {
			<-unblock
		}
		mu.Lock()
		defer mu.Unlock()
		read = append(read, pid)
	})
	mu.Lock()
	if !slices.Equal(read, []int{1, 3}) {
		t.Errorf("read %v while others hang, want 1 and 3", read)
	}
	mu.Unlock()
	if unread := v.unread(); !slices.Equal(unread, []int{2, 4}) {
		t.Errorf("%v are unread, want 2 and 4", unread)
	}
	close(unblock)
	for len(v.unread()) > 0 {
		time.Sleep(time.Millisecond)
	}
	if slices.Sort(read); !slices.Equal(read, []int{1, 2, 3, 4}) {
		t.Errorf("read %v in the end, want all", read)
	}
}

// The threads that wait for processes are bounded.
func TestVisitBoundsThreads(t *testing.T) {
	var v visitor
	unblock := make(chan struct{})
	var pids []int
	for pid := range maxLate + 10 {
		pids = append(pids, pid+1)
	}
	v.visit(pids, func(int, bool) { <-unblock })
	if late := len(v.late); late != maxLate {
		t.Errorf("%d processes are waited for, want %d", late, maxLate)
	}
	if unread := v.unread(); !slices.Equal(unread, pids) {
		t.Errorf("%d processes are unread, want all %d", len(unread), len(pids))
	}
	close(unblock)
	for late := maxLate; late > 0; time.Sleep(time.Millisecond) {
		v.mu.Lock()
		late = len(v.late)
		v.mu.Unlock()
	}
	var mu sync.Mutex
	var missed []int
	v.visit(pids[1:], func(pid int, again bool) { // the first has ended
		mu.Lock()
		defer mu.Unlock()
		if again {
			missed = append(missed, pid)
		}
	})
	if slices.Sort(missed); !slices.Equal(missed, pids[maxLate:]) {
		t.Errorf("%v are read for the first time by another visit, want %v", missed, pids[maxLate:])
	}
	if unread := v.unread(); len(unread) > 0 {
		t.Errorf("%v are unread when they have been read", unread)
	}
}
