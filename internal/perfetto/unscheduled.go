package perfetto

import (
	"wprof/format"
	"wprof/internal/tracks"
)

// introduceAll describes the threads of an event that shows nothing of scheduling, or whose scheduling is not drawn.
func (e *encoder) introduceAll(v *tracks.Event) {
	number := v.CPU
	if number == format.AllCPUs {
		number = 0 // threads are described on some CPU
	}
	c := e.cpu(number)
	if c == nil {
		return
	}
	if v.Flags&format.FlagSubject != 0 && v.Event.Task != 0 {
		e.task(v.Task, c)
	}
	if v.Object() != 0 && v.Flags&format.FlagObject != 0 {
		e.task(v.Other, c)
	}
	switch v.Kind {
	case format.KindExec, format.KindRename:
		e.task(v.Other, c)
	case format.KindFree:
		if k := e.threads.get(v.Task); k != nil && e.threads.byTID[k.tid] == k.thread {
			e.threads.remove(k.tid)
		}
	}
}
