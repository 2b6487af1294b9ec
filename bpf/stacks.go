//go:build linux

package bpf

const (
	// stackFrames is the maximum number of frames of a stack that the kernel walks, STACK_FRAMES in records.h.
	stackFrames = 127
	// tableFrames is that of a user stack that is walked by tables, TABLE_FRAMES.
	tableFrames = 511
)

// tracerFrames is room for the recorder's own frames, which are removed in the end.
const tracerFrames = 8

// MaxStackDepth is the largest [Options.StackDepth].
const MaxStackDepth = tableFrames

// depths are the maximum numbers of frames of the kernel's part of a stack, and of the user's part by frame pointers and by tables. A
// stack of that many is assumed to be deeper.
func (o *Options) depths() (kernel, user, table uint32) {
	limit, err := perfSetting("perf_event_max_stack")
	if err != nil || limit > stackFrames {
		limit = stackFrames
	}
	if o.StackDepth == 0 {
		return uint32(limit), uint32(limit), tableFrames
	}
	return uint32(min(limit, o.StackDepth+tracerFrames)), uint32(min(limit, o.StackDepth)), uint32(min(tableFrames, o.StackDepth))
}
