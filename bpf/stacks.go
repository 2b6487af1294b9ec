//go:build linux

package bpf

// stackFrames is how many frames a stack has at most, STACK_FRAMES in records.h.
const stackFrames = 127

// stackDepth is how many frames the kernel gives: a stack of that many is taken to be deeper.
func stackDepth() uint32 {
	limit, err := perfSetting("perf_event_max_stack")
	if err != nil || limit > stackFrames {
		limit = stackFrames
	}
	return uint32(limit)
}
