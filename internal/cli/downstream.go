package cli

import (
	"os"
	"sync"
)

// downstream is the reaction to the closing of the output's reading end.
type downstream struct {
	mu       sync.Mutex
	hook     func()
	once     sync.Once
	watchers []*watcher
}

// OnDownstreamClosed replaces the reaction to the closing of the output's reading end: by default the tool ends at once, as
// SIGPIPE would end it. The hook is called once, on a goroutine of its own or within a write; later writes fail with
// EPIPE.
func (inv *Invocation) OnDownstreamClosed(hook func()) {
	inv.downstream.mu.Lock()
	inv.downstream.hook = hook
	inv.downstream.mu.Unlock()
}

// closedDownstream ends the tool, or calls the hook if there is one.
func (inv *Invocation) closedDownstream() {
	inv.downstream.mu.Lock()
	hook := inv.downstream.hook
	inv.downstream.mu.Unlock()
	if hook == nil {
		inv.endBySignal(brokenPipe)
		return
	}
	inv.downstream.once.Do(hook)
}

// watchDownstream detects a closed pipe even while there is nothing to write.
func (inv *Invocation) watchDownstream(f *os.File) *watcher {
	catchPipeSignal()
	w := newWatcher(f)
	if w == nil {
		return nil
	}
	inv.downstream.mu.Lock()
	inv.downstream.watchers = append(inv.downstream.watchers, w)
	inv.downstream.mu.Unlock()
	go func() {
		closed := w.wait()
		close(w.done)
		if closed {
			inv.closedDownstream()
		}
	}()
	return w
}

func (d *downstream) release() {
	d.mu.Lock()
	watchers := d.watchers
	d.watchers = nil
	d.mu.Unlock()
	for _, w := range watchers {
		w.stop()
	}
}
