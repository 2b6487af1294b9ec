package spool

import (
	"bytes"
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// Times in records are CLOCK_MONOTONIC ns; integers are little-endian, as both architectures have them.

// Records grow at the end. Spools of older recorders have the shorter ones: a struct that has grown keeps its first size here.
const (
	firstFreeSize = 24 // without an identity
	firstLostSize = 88 // with 16 kinds
)

// recGap is a kind that is never in a file: a source puts it where bytes of a ring are missing. Its time is that of the first
// record after the gap; at gapFrom stands that of the last one before.
const (
	recGap  = 255
	gapFrom = ringdata.HdrSize
	gapSize = gapFrom + 8
)

// Every kind of event has its count in a lost record.
const _ = uint(ringdata.KindEvents - 1 - format.MaxKind)

// recordSizes are the least sizes of the records by kind; 0: a kind that this version does not know.
func recordSizes() [256]uint16 {
	sizes := [256]uint16{
		ringdata.KindSwitch:    ringdata.SwitchSize,
		ringdata.KindWaking:    ringdata.WakingSize,
		ringdata.KindWakeupNew: ringdata.WakingSize,
		ringdata.KindFork:      ringdata.ForkSize,
		ringdata.KindExec:      ringdata.ExecSize,
		ringdata.KindRename:    ringdata.RenameSize,
		ringdata.KindExit:      ringdata.ExitSize,
		ringdata.KindFree:      firstFreeSize,
		ringdata.KindLost:      firstLostSize,
		ringdata.KindSample:    ringdata.SampleSize,
		ringdata.KindTask:      ringdata.TaskSize,
		ringdata.KindStack:     ringdata.StackSize,
		ringdata.KindArgs:      ringdata.ArgsSize,
		ringdata.KindReturn:    ringdata.ReturnSize,
	}
	for _, p := range plainRecords() {
		if p != nil {
			sizes[p.kind] = uint16(p.size)
		}
	}
	return sizes
}

func recordTime(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b[ringdata.HdrTS:])) }

// comm is a name of the kernel: up to 15 bytes, then zeros.
type comm [ringdata.IdentCommSize]byte

func (c *comm) bytes() []byte {
	if i := bytes.IndexByte(c[:], 0); i >= 0 {
		return c[:i]
	}
	return c[:]
}

// identity is struct rec_ident: who a thread is.
type identity struct {
	tid, pid, ppid uint32
	flags          uint32 // task_struct.flags
	start          int64
	comm           comm
	processComm    comm
	nsTID, nsPID   uint32 // in its own PID namespace; 0: that is the first one
}

// kernelThread is PF_KTHREAD in task_struct.flags.
const kernelThread = 0x200000

func decodeIdentity(b []byte) identity {
	_ = b[ringdata.IdentSize-1]
	le := binary.LittleEndian
	return identity{
		tid: le.Uint32(b[ringdata.IdentTID:]), pid: le.Uint32(b[ringdata.IdentPID:]), ppid: le.Uint32(b[ringdata.IdentPPID:]),
		flags: le.Uint32(b[ringdata.IdentTaskFlags:]), start: int64(le.Uint64(b[ringdata.IdentStartNS:])),
		comm: comm(b[ringdata.IdentComm:]), processComm: comm(b[ringdata.IdentProcessComm:]),
		nsTID: le.Uint32(b[ringdata.IdentNSTID:]), nsPID: le.Uint32(b[ringdata.IdentNSPID:]),
	}
}

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
	taskNoLoad          = 0x400
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
	}
	if raw&(exitDead|exitZombie) != 0 {
		raw &^= taskDead // which says no more
	}
	var s format.State
	for _, b := range [...]struct {
		raw   uint32
		state format.State
	}{
		{taskInterruptible, format.StateInterruptible}, {taskStopped, format.StateStopped},
		{taskTraced, format.StateTraced}, {exitZombie, format.StateZombie}, {taskParked, format.StateParked},
		{exitDead | taskDead, format.StateDead}, {taskFrozen, format.StateFrozen}, {taskRTLockWait, format.StateRTLock},
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
