package pytrace

import "wprof/internal/python"

// layout is where an interpreter keeps what tracing needs beside [python.Layout]: offsets in bytes, of the headers of each release.
type layout struct {
	pending       uint64 // the queue of pending calls: in the runtime (3.8), in the interpreter, or from its field ceval.gil on (since 3.13)
	breaker       uint64 // what makes a thread look at the queue: in the runtime (3.8), in the interpreter, or in each thread (since 3.13)
	lock          uint64 // in the queue, as the following: a pointer to a semaphore, or a byte (since 3.13)
	toDo          uint64 // that there are calls, or how many (since 3.13)
	calls         uint64
	callBytes     uint64
	first, next   uint64
	room          uint64 // calls
	threadNumber  uint64 // in a thread: its number, which is unique
	profile       uint64 // in a thread: the hook for calls, as the following
	trace         uint64
	tracing       uint64
	cframe        uint64 // 3.10 and 3.11: where useTracing is
	useTracing    uint64
	frame         uint64 // 3.11: in a frame object, the frame
	frameCode     uint64
	runtimeQueue  bool   // the queue is the runtime's
	threadBreaker bool   // breaker is a bit in each thread
	begun         uint64 // in the runtime: whether the interpreter has been initialised
}

func layoutOf(in *python.Interpreter) (layout, bool) {
	old := layout{callBytes: 16, room: 32, profile: 56, trace: 64, tracing: 44, threadNumber: 256, frameCode: in.Code, begun: 12}
	switch in.Minor {
	case 8:
		old.pending, old.breaker, old.runtimeQueue = 600, 592, true
		old.lock, old.toDo, old.calls, old.first, old.next, old.useTracing = 8, 16, 24, 536, 540, 48
		return old, true
	case 9, 10:
		old.pending, old.breaker, old.toDo, old.calls, old.first, old.next, old.useTracing = 80, 72, 8, 16, 528, 532, 48
		if in.Minor == 10 {
			old.breaker, old.cframe, old.useTracing = 68, 48, 0
		}
		return old, true
	case 11:
		return layout{
			pending: 112, breaker: 100, toDo: 8, calls: 16, callBytes: 16, first: 528, next: 532, room: 32, threadNumber: 240,
			profile: 64, trace: 72, tracing: 44, cframe: 56, frame: 24, frameCode: in.Code, begun: 16,
		}, true
	case 12:
		return layout{pending: 400, breaker: 368, lock: 8, toDo: 16, calls: 24, callBytes: 16, first: 536, next: 540, room: 32, threadNumber: 224, begun: 16}, true
	case 13, 14, 15:
		l := layout{
			pending: 16, breaker: 24, lock: 8, toDo: 12, calls: 24, callBytes: 24, first: 7224, next: 7228, room: 300, threadNumber: 224, threadBreaker: true,
			begun: in.Interpreters - 32,
		}
		if in.Minor == 15 {
			l.threadNumber = 248
		}
		return l, true
	}
	return layout{}, false
}
