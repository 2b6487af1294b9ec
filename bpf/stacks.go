//go:build linux

package bpf

const (
	// stackFrames is the maximum number of frames of a stack that the kernel walks, STACK_FRAMES in records.h.
	stackFrames = 127
	// tableFrames is that of a user stack that is walked by tables, TABLE_FRAMES.
	tableFrames = 511
)

// stackDepth returns the kernel's maximum number of frames: a stack of that many is assumed to be deeper.
func stackDepth() uint32 {
	limit, err := perfSetting("perf_event_max_stack")
	if err != nil || limit > stackFrames {
		limit = stackFrames
	}
	return uint32(limit)
}
