package perfetto

import "wprof/format"

// introduceAll tells Perfetto of the threads of an event whose scheduling is not shown.
func (e *Encoder) introduceAll(v *format.Event) {
	c := e.cpu(v.CPU)
	if c == nil {
		return
	}
	if v.Flags&format.FlagSubject != 0 && v.Task != 0 {
		e.task(v.Task, c)
	}
	if id := object(v); id != 0 && v.Flags&format.FlagObject != 0 {
		e.task(id, c)
	}
	switch v.Kind {
	case format.KindExec:
		e.task(format.TaskID(v.Args[format.ExecPrev]), c)
	case format.KindRename:
		e.task(format.TaskID(v.Args[format.RenamePrev]), c)
	case format.KindFree:
		if k := e.threads.get(v.Task); k != nil && e.threads.byTID[k.tid] == k.thread {
			delete(e.threads.byTID, k.tid)
		}
	}
}

// object is the thread on the other side of an event; 0: it has none.
func object(v *format.Event) format.TaskID {
	switch v.Kind {
	case format.KindSwitch:
		return format.TaskID(v.Args[format.SwitchNext])
	case format.KindWaking:
		return format.TaskID(v.Args[format.WakingWakee])
	case format.KindWakeupNew:
		return format.TaskID(v.Args[format.WakeupNewWakee])
	case format.KindFork:
		return format.TaskID(v.Args[format.ForkChild])
	}
	return 0
}
