package spool

import (
	"bytes"
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// The records of bpf/records.h, field by field: layouts() and the offsets below are held against the C structs by a
// test. Times are CLOCK_MONOTONIC ns; integers are little-endian, as both architectures have them.

// recordKind is enum rec_kind. Those of events have the numbers of [format.Kind].
type recordKind = uint8

const (
	recSwitch    = recordKind(format.KindSwitch)
	recWaking    = recordKind(format.KindWaking)
	recWakeupNew = recordKind(format.KindWakeupNew)
	recFork      = recordKind(format.KindFork)
	recExec      = recordKind(format.KindExec)
	recRename    = recordKind(format.KindRename)
	recExit      = recordKind(format.KindExit)
	recFree      = recordKind(format.KindFree)
	recLost      = recordKind(format.KindLost)
	recSample    = recordKind(format.KindSample)
	recTask      = recordKind(64)
	recStack     = recordKind(65)
	recArgs      = recordKind(66)
	recReturn    = recordKind(67)
	recBlocked   = recordKind(68)
	// recGap is never in a file: a source puts it where bytes of a ring are missing. Its time is that of the
	// first record after the gap; at gapFrom stands that of the last one before.
	recGap = recordKind(255)
)

// enum rec_flag
const (
	recSubject   = 1
	recObject    = 2
	recLast      = 4
	recCut       = 8
	recOnCPU     = 16
	recPreempted = 32
	recSince     = 64
	recQueued    = 128

	recInterrupt = 32  // of a waking
	recYielded   = 128 // of a switch

	recAnnounced = 16                   // of a switch
	recTracer    = 16                   // of a stack
	recStacked   = ringdata.FlagStacked // of a switch, a waking or a wakeup_new
)

// Offsets in struct rec_hdr.
const (
	hdrTime  = ringdata.HdrTime
	hdrKind  = ringdata.HdrKind
	hdrFlags = ringdata.HdrFlags
	hdrCPU   = ringdata.HdrCPU
	hdrTID   = ringdata.HdrTID
	hdrSize  = ringdata.HdrSize
)

// Offsets in the structs that begin with a rec_hdr, and their sizes. A record may be longer: records grow at the end.
const (
	switchNext      = ringdata.SwitchNext
	switchPrevState = ringdata.SwitchPrevState
	switchPrevPrio  = ringdata.SwitchPrevPrio
	switchNextPrio  = ringdata.SwitchNextPrio
	switchDistance  = ringdata.SwitchDistance
	switchSize      = ringdata.SwitchSize
	switchStacks    = switchSize

	wakingWakee  = ringdata.WakingWakee
	wakingPrio   = ringdata.WakingPrio
	wakingTarget = ringdata.WakingTarget
	wakingSize   = ringdata.WakingSize
	wakingStacks = wakingSize

	forkChild = 16
	forkSize  = forkChild + identSize

	execWho            = 16
	execOldTID         = 80
	execFilenameLength = 84
	execFilename       = 88
	execSize           = 88

	renameWho  = 16
	renameSize = 96

	exitPID  = 24
	exitCode = 28
	exitSize = 32

	freeStart       = 16
	freePID         = 24
	freeFlags       = 28
	freeComm        = 32
	freeProcessComm = 48
	freeNamedSize   = 64
	freeSize        = 24 // the first version, without an identity

	lostFrom   = 16
	lostCounts = 24
	lostKinds  = 64 // REC_EVENTS: kinds of events are below
	lostSize   = 88 // the first version, with 16 kinds

	taskWho   = 16
	taskState = 80
	taskPrio  = 84
	taskTime  = 88
	taskSize  = 96

	stackID    = 16
	stackPID   = 24
	stackCount = 28
	stackAddrs = 32
	stackSize  = 32

	stacksUser   = 0
	stacksKernel = 8
	stacksSize   = 16

	returnStacks = ringdata.ReturnStacks
	returnSize   = ringdata.ReturnSize

	blockedStart  = 16
	blockedPID    = 24
	blockedCut    = 28
	blockedKernel = 32
	blockedUser   = 36
	blockedSince  = 40
	blockedState  = 48
	blockedPrio   = 52
	blockedAddrs  = 56
	blockedSize   = 56

	sampleUser   = 16
	sampleKernel = 24
	samplePID    = 32
	sampleSource = 36
	sampleSize   = 40

	argsPID    = 16
	argsLength = 20
	argsWords  = 24
	argsSize   = 24

	gapFrom = 16
	gapSize = 24
)

// Every kind of event has its count in a lost record.
const _ = uint(lostKinds - 1 - format.MaxKind)

// Offsets in struct rec_ident.
const (
	identTID         = 0
	identPID         = 4
	identPPID        = 8
	identFlags       = 12
	identStart       = 16
	identComm        = 24
	identProcessComm = 40
	identNSTID       = 56
	identNSPID       = 60
	identSize        = 64
	commLength       = 16
)

// recordSizes are the least sizes of the records by kind; 0: a kind that this version does not know.
func recordSizes() [256]uint16 {
	return [256]uint16{
		recSwitch: switchSize, recWaking: wakingSize, recWakeupNew: wakingSize, recFork: forkSize, recExec: execSize,
		recRename: renameSize, recExit: exitSize, recFree: freeSize, recLost: lostSize, recTask: taskSize,
		recStack: stackSize, recSample: sampleSize, recArgs: argsSize, recReturn: returnSize,
	}
}

func recordTime(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b[hdrTime:])) }

// comm is a name of the kernel: up to 15 bytes, then zeros.
type comm [commLength]byte

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
	_ = b[identSize-1]
	le := binary.LittleEndian
	return identity{
		tid: le.Uint32(b[identTID:]), pid: le.Uint32(b[identPID:]), ppid: le.Uint32(b[identPPID:]),
		flags: le.Uint32(b[identFlags:]), start: int64(le.Uint64(b[identStart:])),
		comm: comm(b[identComm:]), processComm: comm(b[identProcessComm:]),
		nsTID: le.Uint32(b[identNSTID:]), nsPID: le.Uint32(b[identNSPID:]),
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
