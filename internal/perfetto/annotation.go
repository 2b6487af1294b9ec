package perfetto

import "wprof/format"

// annotation is the id of an annotation's name: its index in annotationNames.
type annotation uint64

const (
	annSlept annotation = iota + 1
	annBlocked
	annStopped
	annTraced
	annParked
	annRestedIdle
	annPreempted
	annWaited
	annWaker
	annDelay
	annState
	annStack
	annCompound
	annChain
	annCPU
	annWakerCPU
	annPrio
	annFrom
	annTo
	annTID
	annPID
	annNSTID
	annNSPID
	annTargetCPU
	annCode
	annSignal
	annLength
	annContext
	annRuns
	annRan
	annLongestDelay
	annThread
	annWaitClass
	annWaitFD
	annWaitFile
	annWaitPeer
	annFutex
	annLockOwner
	annNUMA
	annFile
	annOldTID
	annOldName
	annNewName
	annForkedInto
	annForkedFrom
	annInterrupt
	annCgroup
	annThrottled
)

// annotationNames returns the names of annotations. With peer some are those of the C program wprof, whose delays are in microseconds.
func annotationNames(peer bool) []string {
	names := []string{
		annSlept: "slept_ns", annBlocked: "blocked_ns", annStopped: "stopped_ns", annTraced: "traced_ns",
		annParked: "parked_ns", annRestedIdle: "idle_ns", annPreempted: "preempted_ns", annWaited: "waited_ns",
		annWaker: "waker", annDelay: "delay_ns", annState: "state", annStack: "stack",
		annCompound: "compound_delay_ns", annChain: "chain", annCPU: "cpu", annWakerCPU: "waker_cpu", annPrio: "prio",
		annFrom: "switched_from", annTo: "switched_to", annTID: "tid", annPID: "pid", annNSTID: "ns_tid", annNSPID: "ns_pid",
		annTargetCPU: "target_cpu", annCode: "code", annSignal: "signal", annLength: "length_ns", annContext: "waking_context",
		annRuns: "runs", annRan: "running_ns", annLongestDelay: "longest_delay_ns", annThread: "thread",
		annWaitClass: "wait_class", annWaitFD: "wait_fd", annWaitFile: "wait_file", annWaitPeer: "wait_peer",
		annFutex: "futex", annLockOwner: "lock_owner", annNUMA: "numa_node", annFile: "filename", annOldTID: "tid_changed_from",
		annOldName: "old_name", annNewName: "renamed_to", annForkedInto: "forked_into", annForkedFrom: "forked_from",
		annInterrupt: "waking_interrupt", annCgroup: "cgroup", annThrottled: "throttled_ns",
	}
	if peer {
		names[annDelay], names[annCompound], names[annFrom], names[annTo] = "waking_delay_us", "compound_delay_us", "switch_from", "switch_to"
	}
	return names
}

// delay returns a delay in the unit of its annotation.
func (w *view) delay(ns int64) uint64 {
	if w.on.PeerNames {
		return uint64(max(ns, 0)) / 1000
	}
	return uint64(max(ns, 0))
}

// whyOff returns the annotation for the length of a time off the CPU, by the state in which the thread left.
func whyOff(s format.State) annotation {
	for _, why := range [...]struct {
		state format.State
		name  annotation
	}{
		{format.StateThrottled, annThrottled}, {format.StatePreempted, annPreempted}, {format.StateInterruptible, annSlept}, {format.StateStopped, annStopped},
		{format.StateTraced, annTraced}, {format.StateParked, annParked}, {format.StateIdle, annRestedIdle},
		{format.StateUninterruptible, annBlocked}, {format.StateFrozen, annBlocked}, {format.StateRTLock, annBlocked},
		{format.StateKillable, annBlocked},
	} {
		if s&why.state != 0 {
			return why.name
		}
	}
	return annWaited
}
