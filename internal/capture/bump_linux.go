package capture

// bump is a change of the generation's number. Programs that had read the old one before may write for as long as the
// hypervisor keeps their CPU, so the wait for them is none of the draining thread's.
type bump struct {
	settled chan struct{} // closed when no program goes by the old number
	seen    bool          // ... and that was so before the round that has ended
}

func newBump(await func()) *bump {
	b := &bump{settled: make(chan struct{})}
	go func() {
		defer close(b.settled)
		await()
	}()
	return b
}

// drained is asked after each round. It is true when the round began after the last program of the old generation ended.
func (b *bump) drained() bool {
	if b == nil || b.seen {
		return true
	}
	select {
	case <-b.settled:
		b.seen = true
	default:
	}
	return false
}
