package assemble

import (
	"bytes"
	"encoding/binary"

	"wprof/internal/ringdata"
)

// comm is a name of the kernel: up to 15 bytes, then zeros.
type comm [ringdata.IdentCommSize]byte

func (c *comm) bytes() []byte {
	if i := bytes.IndexByte(c[:], 0); i >= 0 {
		return c[:i]
	}
	return c[:]
}

// identity is struct rec_ident: the identity of a thread.
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
