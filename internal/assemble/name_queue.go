package assemble

import (
	"sync"
	"wprof/internal/symbol"
)

// nameQueue looks names up during a live recording, in a goroutine of its own.
type nameQueue struct {
	namer Namer
	wake  chan struct{} // one element: there are requests
	done  chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	requests []nameRequest
	results  []nameResult
	ended    bool
}

// nameRequest is a place without a name yet. Of the module only the definition is used, which never changes.
type nameRequest struct {
	module *module
	at     symbol.Address
}

type nameResult struct {
	nameRequest
	name symbol.Name
	err  error
}

// maxRequests bounds what waits for the namer. What it refuses is requested again in the next section.
const maxRequests = 1 << 16

func newNameQueue(namer Namer) *nameQueue {
	a := &nameQueue{namer: namer, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go a.run()
	return a
}

// add never waits; false: the queue is full.
func (a *nameQueue) add(q nameRequest) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.requests) >= maxRequests || len(a.results) >= maxRequests {
		return false
	}
	a.requests = append(a.requests, q)
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns the results since the last call.
func (a *nameQueue) take() []nameResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	results := a.results
	a.results = nil
	return results
}

// end ends the goroutine: it finishes the module that it is at, and looks up no further one.
func (a *nameQueue) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	close(a.wake)
}

func (a *nameQueue) run() {
	defer close(a.done)
	for range a.wake {
		for a.batch() {
		}
	}
}

// batch looks up all requests of the module of the first one.
func (a *nameQueue) batch() bool {
	a.mu.Lock()
	if a.ended || len(a.requests) == 0 {
		a.mu.Unlock()
		return false
	}
	m := a.requests[0].module
	var batch, rest []nameRequest
	for _, q := range a.requests {
		if q.module == m {
			batch = append(batch, q)
		} else {
			rest = append(rest, q)
		}
	}
	a.requests = rest
	a.mu.Unlock()

	at, out := make([]symbol.Address, len(batch)), make([]symbol.Name, len(batch))
	for i := range batch {
		at[i] = batch[i].at
	}
	err := a.namer.Names(m.definition, at, out)

	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batch {
		a.results = append(a.results, nameResult{batch[i], out[i], err})
	}
	return true
}
