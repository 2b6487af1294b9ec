package perfetto

import (
	"wprof/internal/bounded"
	"wprof/internal/tracks"
)

// processes number processes, because the kernel uses an id again: one after the other with the same id have tracks of their own.
type processes struct {
	byID *bounded.Map[int32, process]
}

type process struct {
	start int64 // of its first thread; 0: not known
	turn  int32 // how many processes had its id before
}

func newProcesses() processes { return processes{bounded.NewMap[int32, process](maxItemTracks)} }

// number returns the number of a thread's process: its id in the lower half.
func (p *processes) number(of *tracks.Task, all *threads) int64 {
	pid := of.Def.Pid
	start := of.Def.Start
	if of.Def.Tid != pid {
		start = 0
		if first := all.byTID[pid]; first != nil {
			start = first.start
		}
	}
	known, found := p.byID.Get(pid)
	now := known
	if start != 0 && start != known.start {
		now.start = start
		if known.start != 0 {
			now.turn++
		}
	}
	if !found || now != known {
		p.byID.Put(pid, now)
	}
	return int64(now.turn)<<32 | int64(uint32(pid))
}
