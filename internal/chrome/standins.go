package chrome

import "wprof/format"

// Linux gives no tid above 1<<22 (PID_MAX_LIMIT in include/linux/threads.h), so what is no thread has numbers above. They
// differ from each other as tids of all processes do, because tools know a thread by its tid alone.
const (
	standIn      = 1<<22 + 1
	cpusPID      = standIn
	recordingPID = standIn + 1
	unknownPID   = standIn + 2 // the process of threads of which the stream does not know it
	allCPUsTID   = standIn + 3
	cpuTID       = standIn + 16 // and up, one for each CPU
	lostTID      = cpuTID + maxCPUs
)

// maxCPUs bounds what is kept of CPUs. The recorder has 16 bits for them; what a hostile stream has of others goes by
// all of them.
const maxCPUs = 1 << 16

// lostOn is the row of what was lost on a CPU.
func lostOn(cpu uint32) int64 {
	if cpu >= maxCPUs {
		return allCPUsTID
	}
	return lostTID + int64(cpu)
}

// known is a CPU that has a row, or all of them.
func known(cpu uint32) uint32 {
	if cpu >= maxCPUs {
		return format.AllCPUs
	}
	return cpu
}
