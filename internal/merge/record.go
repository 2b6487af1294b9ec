package merge

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// Times in records are CLOCK_MONOTONIC ns; integers are little-endian, as both architectures have them.

// Records grow at the end. Spools of older recorders have the shorter ones: a struct that has grown keeps its first size here.
const (
	FirstFreeSize   = 24 // without an identity
	firstForkSize   = 80 // without a cgroup
	firstLostSize   = 88 // with 16 kinds
	FirstReturnSize = 32 // without a wait
)

// KindHole is a kind that is never in a file: a source puts it where bytes of a ring are missing. Its time is that of the first
// record after the hole; at HoleFrom stands that of the last one before.
const (
	KindHole = 255
	HoleFrom = ringdata.HdrSize
	holeSize = HoleFrom + 8
)

// Every kind of event has its count in a lost record.
const _ = uint(ringdata.KindEvents - 1 - format.MaxKind)

// recordSizes are the least sizes of the records by kind; 0: a kind that this version does not know.
func recordSizes() [256]uint16 {
	sizes := [256]uint16{
		ringdata.KindSwitch:    ringdata.SwitchSize,
		ringdata.KindWaking:    ringdata.WakingSize,
		ringdata.KindWakeupNew: ringdata.WakingSize,
		ringdata.KindFork:      firstForkSize,
		ringdata.KindExec:      ringdata.ExecSize,
		ringdata.KindRename:    ringdata.RenameSize,
		ringdata.KindExit:      ringdata.ExitSize,
		ringdata.KindFree:      FirstFreeSize,
		ringdata.KindLost:      firstLostSize,
		ringdata.KindSample:    ringdata.SampleSize,
		ringdata.KindTyped:     ringdata.TypedSize,
		ringdata.KindInstant:   ringdata.InstantSize,
		ringdata.KindText:      ringdata.TextSize,
		ringdata.KindTask:      ringdata.TaskSize,
		ringdata.KindStack:     ringdata.StackSize,
		ringdata.KindArgs:      ringdata.ArgsSize,
		ringdata.KindReturn:    FirstReturnSize,
		ringdata.KindWait:      ringdata.WaitSize,
		ringdata.KindCgroup:    ringdata.CgroupSize,
		ringdata.KindMove:      ringdata.MoveSize,
		ringdata.KindMissing:   ringdata.MissingSize,
		ringdata.KindCode:      ringdata.CodeSize,
	}
	kinds := format.Kinds()
	for _, r := range ringdata.Records() {
		if kinds[r.Kind-1].IsPlain() {
			sizes[r.Kind] = uint16(r.Size)
		}
	}
	return sizes
}

func RecordTime(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b[ringdata.HdrTS:])) }
