package capture

// bump is a change of the generation's number. Programs that have read the old number may still write, for as long as the
// hypervisor has descheduled their CPU, so the draining thread does not wait for them.
type bump struct {
	finished chan struct{} // closed when no program uses the old number
	seen     bool          // drained has been called since finished was closed
}

func newBump(await func()) *bump {
	b := &bump{finished: make(chan struct{})}
	go func() {
		defer close(b.finished)
		await()
	}()
	return b
}

// drained is called after each round. It reports whether the round began after the last program of the old generation
// ended.
func (b *bump) drained() bool {
	if b == nil || b.seen {
		return true
	}
	select {
	case <-b.finished:
		b.seen = true
	default:
	}
	return false
}
