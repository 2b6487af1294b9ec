//go:build linux

package bpf

// stackFrames is the maximum number of frames of a stack, STACK_FRAMES in records.h.
const stackFrames = 127

// stackDepth returns the kernel's maximum number of frames: a stack of that many is assumed to be deeper.
func stackDepth() uint32 {
	limit, err := perfSetting("perf_event_max_stack")
	if err != nil || limit > stackFrames {
		limit = stackFrames
	}
	return uint32(limit)
}
