package capture

import "time"

const (
	// stallLook times stallLooks is how long one write to a disk must last to be reported. Looks are counted instead of time,
	// because this process may be stopped meanwhile.
	stallLook  = time.Second
	stallLooks = 3
)

// stall detects writes that do not end, by a number that is odd while one is under way, another one for each.
type stall struct {
	last  uint64
	looks int // in a row at which the same write was under way
}

// isNew reports whether a write has now lasted for stallLooks. It does so once for each.
func (s *stall) isNew(writes uint64) bool {
	if writes%2 == 0 || writes != s.last {
		s.last, s.looks = writes, 0
		return false
	}
	s.looks++
	return s.looks == stallLooks
}

// watchDisk says that the recorder waits for a disk, which may be for ever.
func (s *session) watchDisk(ended <-chan struct{}) {
	looks := time.NewTicker(stallLook)
	defer looks.Stop()
	var spool, output stall
	for {
		select {
		case <-ended:
			return
		case <-looks.C:
		}
		if spool.isNew(s.spool.Writes()) {
			s.inv.Warnf("the disk of the %s has taken nothing for 3 seconds: the recorder waits for it, and loses events if that lasts", s.spool.Name())
		}
		if s.out.IsRegular() && output.isNew(s.written.writes.Load()) {
			s.inv.Warnf("the disk of the output has taken nothing for 3 seconds: the recorder waits for it; the recording is in the %s", s.spool.Name())
		}
	}
}
