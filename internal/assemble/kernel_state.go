package assemble

import "wprof/format"

// Bits of task_struct.__state and exit_state since Linux 6.1 (include/linux/sched.h).
const (
	taskInterruptible   = 0x1
	taskUninterruptible = 0x2
	taskStopped         = 0x4
	taskTraced          = 0x8
	exitDead            = 0x10
	exitZombie          = 0x20
	taskParked          = 0x40
	taskDead            = 0x80
	taskWakekill        = 0x100
	taskIOWait          = 0x200 // REC_IOWAIT in bpf/records.h
	taskNoLoad          = 0x400
	taskThrottled       = 0x800 // REC_THROTTLED in bpf/records.h
	taskRTLockWait      = 0x1000
	taskFrozen          = 0x8000
)

// kernelState turns the kernel's state bits into those of the stream.
func kernelState(raw uint32) format.State {
	switch raw {
	case 0:
		return format.StateRunnable
	case taskInterruptible:
		return format.StateInterruptible
	case taskUninterruptible:
		return format.StateUninterruptible
	case taskThrottled:
		return format.StateThrottled | format.StatePreempted
	}
	if raw&(exitDead|exitZombie) != 0 {
		raw &^= taskDead // which adds nothing
	}
	var s format.State
	for _, b := range [...]struct {
		raw   uint32
		state format.State
	}{
		{taskInterruptible, format.StateInterruptible}, {taskStopped, format.StateStopped},
		{taskTraced, format.StateTraced}, {exitZombie, format.StateZombie}, {taskParked, format.StateParked},
		{exitDead | taskDead, format.StateDead}, {taskFrozen, format.StateFrozen}, {taskRTLockWait, format.StateRTLock},
		{taskIOWait, format.StateIOWait},
	} {
		if raw&b.raw != 0 {
			s |= b.state
		}
	}
	// A killable wait is D with WAKEKILL, but a stopped or traced thread has WAKEKILL as well and is not "K".
	const idle = taskUninterruptible | taskNoLoad
	switch {
	case raw&idle == idle:
		s |= format.StateIdle
	case raw&taskUninterruptible != 0:
		s |= format.StateUninterruptible
	}
	if raw&taskWakekill != 0 && raw&taskUninterruptible != 0 {
		s |= format.StateKillable
	}
	return s
}
