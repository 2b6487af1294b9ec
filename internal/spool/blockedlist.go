package spool

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

// BlockedLength is the length of the rec_blocked, rec_wait or rec_code that a list begins with; 0: it begins with none.
func BlockedLength(list []byte) int {
	if len(list) < ringdata.HdrSize {
		return 0
	}
	le := binary.LittleEndian
	switch kind := list[ringdata.HdrKind]; {
	case kind == ringdata.KindWait && len(list) >= ringdata.WaitSize:
		return ringdata.WaitSize
	case kind == ringdata.KindCode:
		if n := uint64(le.Uint32(list[ringdata.HdrTID:])); n >= ringdata.CodeSize && n <= min(maxCode, uint64(len(list))) {
			return int(n)
		}
	case kind == ringdata.KindBlocked && len(list) >= ringdata.BlockedSize:
		count := uint64(le.Uint32(list[ringdata.BlockedKernelCount:])) + uint64(le.Uint32(list[ringdata.BlockedUserCount:])) +
			uint64(le.Uint16(list[ringdata.BlockedPythonCount:]))
		if count <= maxBlockedWords && ringdata.BlockedSize+8*int(count) <= len(list) {
			return ringdata.BlockedSize + 8*int(count)
		}
	}
	return 0
}

// More than the iterator writes for one thread, and for one code object; larger numbers are damage.
const (
	maxBlockedWords = 4096
	maxCode         = 8192
)
