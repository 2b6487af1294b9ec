package sideband

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	// maxQueue bounds the queued requests. Files beyond it are opened when they are mapped again.
	maxQueue = 16 << 10
	// usualThreads open files; up to maxThreads if file systems do not respond, since each such file blocks its thread.
	usualThreads = 2
	maxThreads   = 16
	// stuckAfter is the time without an opened file after which another thread is started.
	stuckAfter = 100 * time.Millisecond
)

// request is the mapping of a file that is to be held open.
type request struct {
	Record          // owns its texts
	opened *os.File // nil: it is not open yet
}

func fileRequest(r *Record) request {
	own := *r
	own.BuildID, own.Path, own.Data = bytes.Clone(r.BuildID), bytes.Clone(r.Path), nil
	return request{Record: own}
}

// opener opens the files of mappings on threads of its own, because opening, and even lstat, may take arbitrarily long.
type opener struct {
	open     func(*request)
	refuse   func(*request) // called instead of open for a request that is dropped
	onThread func()

	mu      sync.Mutex
	waiting sync.Cond
	queue   []request
	threads int
	idle    int
	last    time.Time // when a thread last took a request
	closed  bool
}

func newOpener(open, refuse func(*request), onThread func()) *opener {
	o := &opener{open: open, refuse: refuse, onThread: onThread}
	o.waiting.L = &o.mu
	return o
}

// add queues requests, without waiting for a file. It is called periodically, also without requests: it checks that queued ones
// are not stuck.
func (o *opener) add(requests []request) {
	o.mu.Lock()
	o.addThreadIfStuck()
	room := 0
	if !o.closed {
		room = min(maxQueue-len(o.queue), len(requests))
	}
	if len(o.queue) == 0 && room > 0 {
		o.last = time.Now()
	}
	o.queue = append(o.queue, requests[:room]...)
	for range min(room, maxThreads) {
		o.begin()
	}
	o.mu.Unlock()
	for i := range requests[room:] {
		o.refuse(&requests[room+i])
	}
}

// addThreadIfStuck starts a thread if queued requests wait because the others are stuck.
func (o *opener) addThreadIfStuck() {
	if len(o.queue) > 0 && time.Since(o.last) > stuckAfter {
		o.begin()
	}
}

// begin wakes a thread or starts one.
func (o *opener) begin() {
	if o.idle > 0 {
		o.waiting.Signal()
		return
	}
	if o.threads < usualThreads || o.threads < maxThreads && time.Since(o.last) > stuckAfter {
		o.threads++
		go o.run()
	}
}

func (o *opener) run() {
	runtime.LockOSThread() // never unlocked, so that its settings end with it
	if o.onThread != nil {
		o.onThread()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 && !o.closed {
			o.idle++
			o.waiting.Wait()
			o.idle--
		}
		if o.closed {
			o.threads--
			return
		}
		next := o.queue[0]
		o.queue = o.queue[1:]
		o.last = time.Now()
		o.mu.Unlock()
		o.open(&next)
		o.mu.Lock()
	}
}

// wait waits until all requests are done, or until the deadline.
func (o *opener) wait(deadline time.Time) {
	for !o.isDone() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
}

func (o *opener) isDone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addThreadIfStuck()
	return len(o.queue) == 0 && o.idle == o.threads
}

// close refuses queued requests and ends the threads; one that is opening a file ends after that.
func (o *opener) close() {
	o.mu.Lock()
	o.closed = true
	rest := o.queue
	o.queue = nil
	o.waiting.Broadcast()
	o.mu.Unlock()
	for i := range rest {
		o.refuse(&rest[i])
	}
}
