package spool

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

// BlockedLength is the length of the rec_blocked, or rec_wait, that a list begins with; 0: it begins with none.
func BlockedLength(list []byte) int {
	if len(list) >= ringdata.WaitSize && list[ringdata.HdrKind] == ringdata.KindWait {
		return ringdata.WaitSize
	}
	if len(list) < ringdata.BlockedSize {
		return 0
	}
	le := binary.LittleEndian
	count := uint64(le.Uint32(list[ringdata.BlockedKernelCount:])) + uint64(le.Uint32(list[ringdata.BlockedUserCount:]))
	if count > maxBlockedFrames || ringdata.BlockedSize+8*int(count) > len(list) || list[ringdata.HdrKind] != ringdata.KindBlocked {
		return 0
	}
	return ringdata.BlockedSize + 8*int(count)
}

// maxBlockedFrames is more than the iterator's buffer has room for (BLOCKED_WORDS of bpf/blocked.h); a larger count is damage.
const maxBlockedFrames = 1024
