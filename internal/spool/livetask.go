package spool

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

// LiveTask is a live thread that the kernel's list of tasks left out, as far as it is known otherwise.
type LiveTask struct {
	At             int64 // when this was so, CLOCK_MONOTONIC ns
	TID, PID, PPID int
	Comm           string
	ProcessComm    string
	Start          int64  // to 10 ms, as /proc has it
	Flags          uint32 // task_struct.flags
	State          byte   // as ps(1) has it
	Prio, CPU      int
	Wanted         bool // the filters want it
}

// AppendTask appends the struct rec_task of a live thread, for [Writer.Tasks].
func AppendTask(dst []byte, t LiveTask) []byte {
	dst = append(dst, make([]byte, ringdata.TaskSize)...)
	b, le := dst[len(dst)-ringdata.TaskSize:], binary.LittleEndian
	le.PutUint64(b[ringdata.HdrTS:], uint64(t.At))
	b[ringdata.HdrKind], b[ringdata.HdrFlags] = ringdata.KindTask, ringdata.FlagCut
	if t.Wanted {
		b[ringdata.HdrFlags] |= ringdata.FlagSubject
	}
	if t.State == 'R' {
		b[ringdata.HdrFlags] |= ringdata.FlagQueued
	}
	le.PutUint16(b[ringdata.HdrCPU:], uint16(t.CPU))
	le.PutUint32(b[ringdata.HdrTID:], uint32(t.TID))
	who := b[ringdata.TaskIdent:]
	le.PutUint32(who[ringdata.IdentTID:], uint32(t.TID))
	le.PutUint32(who[ringdata.IdentPID:], uint32(t.PID))
	le.PutUint32(who[ringdata.IdentPPID:], uint32(t.PPID))
	le.PutUint32(who[ringdata.IdentTaskFlags:], t.Flags)
	le.PutUint64(who[ringdata.IdentStartNS:], uint64(t.Start))
	copy(who[ringdata.IdentComm:ringdata.IdentComm+ringdata.IdentCommSize-1], t.Comm)
	copy(who[ringdata.IdentProcessComm:ringdata.IdentProcessComm+ringdata.IdentCommSize-1], t.ProcessComm)
	le.PutUint32(b[ringdata.TaskState:], rawState(t.State))
	le.PutUint16(b[ringdata.TaskPrio:], uint16(t.Prio))
	return dst
}

// TaskIDs are the thread and process id in a struct rec_task.
func TaskIDs(record []byte) (tid, pid int) {
	who := record[ringdata.TaskIdent:]
	return int(binary.LittleEndian.Uint32(who[ringdata.IdentTID:])), int(binary.LittleEndian.Uint32(who[ringdata.IdentPID:]))
}

// rawState is a letter of ps(1) as task_struct.__state | exit_state, include/linux/sched.h.
func rawState(letter byte) uint32 {
	switch letter {
	case 'S':
		return 0x1
	case 'D':
		return 0x2
	case 'T':
		return 0x4
	case 't':
		return 0x8
	case 'X':
		return 0x10
	case 'Z':
		return 0x20
	case 'P':
		return 0x40
	case 'I':
		return 0x402
	}
	return 0
}
