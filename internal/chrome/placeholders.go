package chrome

import "wprof/format"

// Linux gives no tid above 1<<22 (PID_MAX_LIMIT in include/linux/threads.h), so rows that are no threads have numbers above. They
// are unique across processes, as tids are, because tools identify a thread by its tid alone.
const (
	firstPlaceholder = 1<<22 + 1
	cpusPID          = firstPlaceholder
	recordingPID     = firstPlaceholder + 1
	unknownPID       = firstPlaceholder + 2 // the process of threads whose process is unknown
	allCPUsTID       = firstPlaceholder + 3
	cpuTID           = firstPlaceholder + 16 // and up, one for each CPU
	lostTID          = cpuTID + maxCPUs
)

// maxCPUs bounds the CPUs that are kept. The recorder has 16 bits for a number; events that a hostile stream has of others count as
// events of all CPUs.
const maxCPUs = 1 << 16

// lostOn returns the row for losses on a CPU.
func lostOn(cpu uint32) int64 {
	if cpu >= maxCPUs {
		return allCPUsTID
	}
	return lostTID + int64(cpu)
}

// known returns the CPU if it can have a row, else the number for all CPUs.
func known(cpu uint32) uint32 {
	if cpu >= maxCPUs {
		return format.AllCPUs
	}
	return cpu
}
