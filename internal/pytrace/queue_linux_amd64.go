package pytrace

import (
	"errors"
	"fmt"
)

// queue is the queue of pending calls of a stopped process, as Py_AddPendingCall() of its release fills it.
type queue struct {
	t           *target
	at          uint64
	interpreter uint64
}

// mainOffset is where the main interpreter is, from the first one on, in the runtime.
const mainOffset = 8

var errLocked = errors.New("its queue of pending calls is locked")

func (t *target) queue() (*queue, error) {
	interpreter, err := readWord(t.pid, t.runtime+t.in.Interpreters+mainOffset)
	if err != nil {
		return nil, err
	}
	if interpreter == 0 {
		return nil, errors.New("its interpreter has not begun, or has ended")
	}
	q := &queue{t: t, interpreter: interpreter, at: interpreter + t.layout.pending}
	switch {
	case t.layout.runtimeQueue:
		q.at = t.runtime + t.layout.pending
	case t.layout.threadBreaker:
		q.at += t.in.GIL.At
	}
	return q, q.check()
}

// check finds out whether the queue's lock is free. A thread that has it is stopped in the middle of a change.
func (q *queue) check() error {
	l := &q.t.layout
	if l.threadBreaker {
		n, err := readInt(q.t.pid, q.at+l.lock)
		if err == nil && n&0xff != 0 {
			err = errLocked
		}
		return err
	}
	lock, err := readWord(q.t.pid, q.at+l.lock)
	if err != nil {
		return err
	}
	if lock == 0 {
		return errors.New("its queue of pending calls has no lock")
	}
	switch value, err := readInt(q.t.pid, lock); {
	case err != nil:
		return err
	case value == 0:
		return errLocked
	case value != 1:
		return fmt.Errorf("the lock of its queue of pending calls is not as expected: %d", value)
	}
	return nil
}

// add puts a call into the queue, and makes the threads look.
func (q *queue) add(function, arg uint64) error {
	l, pid := &q.t.layout, q.t.pid
	first, err1 := readInt(pid, q.at+l.first)
	next, err2 := readInt(pid, q.at+l.next)
	toDo, err3 := readInt(pid, q.at+l.toDo)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	room := uint32(l.room)
	if first >= room || next >= room || toDo > room || !l.threadBreaker && toDo > 1 {
		return fmt.Errorf("its queue of pending calls is not as expected: %d, %d, %d", first, next, toDo)
	}
	after := (next + 1) % room
	if !l.threadBreaker && after == first || l.threadBreaker && toDo >= room {
		return errors.New("its queue of pending calls is full")
	}
	place := q.at + l.calls + uint64(next)*l.callBytes
	err := errors.Join(writeWord(pid, place, function), writeWord(pid, place+8, arg))
	if l.threadBreaker {
		toDo++
		err = errors.Join(err, writeInt(pid, place+16, 0))
	} else {
		toDo = 1
	}
	return errors.Join(err, writeInt(pid, q.at+l.next, after), writeInt(pid, q.at+l.toDo, toDo), q.notify())
}

const (
	callsToDoBit   = 1 << 2 // _PY_CALLS_TO_DO_BIT of 3.13
	maxPythonTasks = 1 << 16
)

// notify sets what makes threads look at the queue.
func (q *queue) notify() error {
	l, t := &q.t.layout, q.t
	switch {
	case l.runtimeQueue:
		return writeInt(t.pid, t.runtime+l.breaker, 1)
	case !l.threadBreaker:
		return writeInt(t.pid, q.interpreter+l.breaker, 1)
	}
	thread, err := readWord(t.pid, q.interpreter+t.in.Threads)
	for n := 0; err == nil && thread != 0 && n < maxPythonTasks; n++ {
		var bits uint64
		if bits, err = readWord(t.pid, thread+l.breaker); err != nil {
			break
		}
		if err = writeWord(t.pid, thread+l.breaker, bits|callsToDoBit); err != nil {
			break
		}
		thread, err = readWord(t.pid, thread+t.in.NextThread)
	}
	return err
}
