package cli

import "os"

// OnDownstreamClosed replaces what happens when nobody reads the output any more: by default the tool ends at once, as
// SIGPIPE would end it.
func (inv *Invocation) OnDownstreamClosed(hook func()) {
	inv.mu.Lock()
	inv.downstreamClosed = hook
	inv.mu.Unlock()
	if hook != nil {
		keepPipeErrors()
	}
}

// watchDownstream notices a closed pipe also while there is nothing to write.
func (inv *Invocation) watchDownstream(f *os.File) {
	go func() {
		if !waitClosed(f) {
			return
		}
		inv.mu.Lock()
		hook := inv.downstreamClosed
		inv.mu.Unlock()
		if hook != nil {
			hook()
			return
		}
		inv.abort()
		raisePipe()
	}()
}
