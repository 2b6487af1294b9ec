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
	n := &nameQueue{namer: namer, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go n.run()
	return n
}

// add never waits; false: the queue is full.
func (n *nameQueue) add(q nameRequest) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.requests) >= maxRequests || len(n.results) >= maxRequests {
		return false
	}
	n.requests = append(n.requests, q)
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns the results since the last call.
func (n *nameQueue) take() []nameResult {
	n.mu.Lock()
	defer n.mu.Unlock()
	results := n.results
	n.results = nil
	return results
}

// end ends the goroutine after the module that it is looking up.
func (n *nameQueue) end() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	close(n.wake)
}

func (n *nameQueue) run() {
	defer close(n.done)
	for range n.wake {
		for n.batch() {
		}
	}
}

// batch looks up all requests of the module of the first one.
func (n *nameQueue) batch() bool {
	n.mu.Lock()
	if n.ended || len(n.requests) == 0 {
		n.mu.Unlock()
		return false
	}
	m := n.requests[0].module
	var batch, rest []nameRequest
	for _, q := range n.requests {
		if q.module == m {
			batch = append(batch, q)
		} else {
			rest = append(rest, q)
		}
	}
	n.requests = rest
	n.mu.Unlock()

	at, out := make([]symbol.Address, len(batch)), make([]symbol.Name, len(batch))
	for i := range batch {
		at[i] = batch[i].at
	}
	err := n.namer.Names(m.definition, at, out)

	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range batch {
		n.results = append(n.results, nameResult{batch[i], out[i], err})
	}
	return true
}
