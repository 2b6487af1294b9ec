package sideband

import (
	"testing"
	"time"
)

// Files that do not open block all usual threads: queued ones are opened by additional threads, even without further requests.
func TestQueuedFilesAreOpenedBesideFilesThatHang(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	opened := make(chan uint32, 10)
	o := newOpener(func(r *request) {
		if r.PID <= usualThreads {
			<-hang
		}
		opened <- r.PID
	}, func(*request) {}, nil)
	defer o.close()
	var all []request
	for pid := range uint32(usualThreads + 2) {
		all = append(all, request{Record: Record{PID: pid + 1}})
	}
	o.add(all)
	for end := time.Now().Add(time.Minute); len(opened) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of 2 files are opened beside %d that hang", len(opened), usualThreads)
		}
		o.add(nil)
	}
}
