package capture

import "time"

const (
	// A write to a disk that is under way for stallPolls polls is reported. Polls are counted instead of time, because this
	// process may be stopped meanwhile.
	stallPoll  = time.Second
	stallPolls = 3
)

// stall detects writes that do not end. It polls a counter of their beginnings and ends, which is odd while one is under way.
type stall struct {
	last  uint64
	polls int // in a row that found the same write under way
}

// poll returns true once for each write: when it has lasted for stallPolls.
func (s *stall) poll(writes uint64) bool {
	if writes%2 == 0 || writes != s.last {
		s.last, s.polls = writes, 0
		return false
	}
	s.polls++
	return s.polls == stallPolls
}

// watchDisk warns when the recorder waits for a disk, which may never respond. name is that of the spool.
func (s *session) watchDisk(name string) {
	polls := time.NewTicker(stallPoll)
	defer polls.Stop()
	var spool, output stall
	for {
		select {
		case <-s.ended:
			return
		case <-polls.C:
		}
		if spool.poll(s.spool.Writes()) {
			s.inv.Warnf("the disk of the %s has accepted no writes for 3 seconds: the recorder waits for it, and loses events if that lasts", name)
		}
		if s.out.IsRegular() && output.poll(s.written.writes.Load()) {
			s.inv.Warnf("the disk of the output has accepted no writes for 3 seconds: the recorder waits for it; the recording is in the %s", name)
		}
	}
}
