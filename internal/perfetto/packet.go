package perfetto

import (
	"bytes"

	"wprof/format"
	"wprof/internal/stacks"
)

// Fields of Trace and TracePacket, and the sequence that all packets but those of samples and of the thread view belong to.
const (
	tracePacket = 1

	packetFtraceEvents    = 1
	packetProcessTree     = 2
	packetClockSnapshot   = 6
	packetTimestamp       = 8
	packetSequence        = 10
	packetTrackEvent      = 11
	packetInternedData    = 12
	packetSequenceFlags   = 13
	packetConfig          = 33
	packetSystemInfo      = 45
	packetClock           = 58
	packetDefaults        = 59
	packetTrackDescriptor = 60
	packetPerfSample      = 66
	packetExtensions      = 72
	packetUUID            = 89
	packetTaskState       = 117

	sequenceID = 1

	clockRealtime  = 1
	clockMonotonic = 3
	clockBoottime  = 6
)

// Bits of sequence_flags.
const (
	stateCleared = 1
	needsState   = 2
)

func beginPacket(out []byte) ([]byte, int) {
	out, packet := begin(out, tracePacket)
	return appendUint(out, packetSequence, sequenceID), packet
}

func beginTimedPacket(out []byte, at uint64) ([]byte, int) {
	out, packet := beginPacket(out)
	return appendUint(out, packetTimestamp, at), packet
}

func appendSystemInfo(out []byte, s *format.Session) []byte {
	release := s.KernelRelease
	if release == "" {
		// Without a release Perfetto reads the states of switches as Linux 4.4 numbered them.
		release = "6.1.0 (not recorded)"
	}
	out, packet := beginPacket(out)
	out, info := begin(out, packetSystemInfo)
	out, uts := begin(out, 1)
	out = appendString(out, 1, "Linux")
	out = appendString(out, 2, stacks.Printable([]byte(s.KernelVersion), "not recorded"))
	out = appendString(out, 3, stacks.Printable([]byte(release), ""))
	out = appendString(out, 4, stacks.Printable([]byte(s.Machine), "not recorded"))
	end(out, uts)
	end(out, info)
	end(out, packet)
	return out
}

// appendUUID appends the recording's UUID and title, which Perfetto shows in its table of metadata.
func appendUUID(out []byte, s *format.Session) []byte {
	high, low := s.UUIDBits()
	out, packet := beginPacket(out)
	out, uuid := begin(out, packetUUID)
	out = appendInt(appendInt(out, 1, int64(high)), 2, int64(low))
	end(out, uuid)
	end(out, packet)
	out, packet = beginPacket(out)
	out, config := begin(out, packetConfig)
	out = appendString(out, 22, title(s))
	end(out, config)
	end(out, packet)
	return out
}

func appendClockSnapshot(out []byte, s *format.ClockSnapshot) []byte {
	out, packet := beginTimedPacket(out, uint64(max(s.Boottime, 0)))
	out, snapshot := begin(out, packetClockSnapshot)
	for _, c := range [...]struct {
		id uint64
		at int64
	}{{clockBoottime, s.Boottime}, {clockMonotonic, s.Monotonic}, {clockRealtime, s.Realtime}} {
		if c.id == clockRealtime && c.at == 0 {
			continue // not known
		}
		var one int
		out, one = begin(out, 1)
		out = appendUint(out, 1, c.id)
		out = appendUint(out, 2, uint64(max(c.at, 0)))
		end(out, one)
	}
	out = appendUint(out, 2, clockBoottime)
	end(out, snapshot)
	end(out, packet)
	return out
}

// appendProcess appends the assignment of a thread to its process. Perfetto names a process by the first word of its
// command line. The thread's own name is left out if it may change: Perfetto would prefer it to every later one.
func appendProcess(out []byte, at uint64, d *format.Task, command [][]byte, name []byte) []byte {
	out, packet := beginTimedPacket(out, at)
	out, tree := begin(out, packetProcessTree)
	out, process := begin(out, 1)
	out = appendInt(out, 1, int64(d.Pid))
	out = appendInt(out, 2, int64(d.Ppid))
	out = appendCommand(out, command, stacks.Printable(d.ProcessComm, stacks.Unnamed))
	end(out, process)
	out = appendThreadOf(out, d, name)
	end(out, tree)
	end(out, packet)
	return out
}

// appendThread appends the assignment of a thread to a process that has been described.
func appendThread(out []byte, at uint64, d *format.Task, name []byte) []byte {
	out, packet := beginTimedPacket(out, at)
	out, tree := begin(out, packetProcessTree)
	out = appendThreadOf(out, d, name)
	end(out, tree)
	end(out, packet)
	return out
}

func appendThreadOf(out []byte, d *format.Task, name []byte) []byte {
	out, thread := begin(out, 2)
	out = appendInt(out, 1, int64(d.Tid))
	if name != nil {
		out = appendString(out, 2, name)
	}
	out = appendInt(out, 3, int64(d.Pid))
	end(out, thread)
	return out
}

// kthreaddPID is the pid of kthreadd, which creates all other kernel threads.
const kthreaddPID = 2

// appendParent appends the name of a process none of whose threads is described.
func appendParent(out []byte, at uint64, pid int32, name string) []byte {
	out, packet := beginTimedPacket(out, at)
	out, tree := begin(out, packetProcessTree)
	out, process := begin(out, 1)
	out = appendInt(out, 1, int64(pid))
	out = appendString(out, 3, name)
	end(out, process)
	end(out, tree)
	end(out, packet)
	return out
}

// appendCommand appends a command line's words, or where there is none the process's name.
func appendCommand(out []byte, words [][]byte, name []byte) []byte {
	if len(words) == 0 {
		words = [][]byte{name}
	}
	for _, word := range words {
		out = appendString(out, 3, word)
	}
	if len(words) == 1 && bytes.IndexByte(words[0], ' ') >= 0 {
		// Of a command line of one word Perfetto takes only what is before the space for the name.
		out = appendString(out, 3, "")
	}
	return out
}

// Two of the states in Perfetto's generic numbering.
const (
	taskRunnable = 2
	taskRunning  = 3
)

// taskState is a state in Perfetto's generic numbering, which has only these, and 0 for others.
func taskState(raw shown) uint64 {
	switch format.State(raw) {
	case format.StateRunnable:
		return taskRunnable
	case format.StateInterruptible:
		return 4
	case format.StateUninterruptible:
		return 5
	case format.StateStopped:
		return 6
	case format.StateZombie:
		return 7
	}
	return 0
}

// appendTaskState appends the state of a thread without a switch into it. A thread without a name keeps its name.
func appendTaskState(out []byte, at uint64, cpu uint32, k *task, prio int32, state uint64) []byte {
	out, packet := beginTimedPacket(out, at)
	out, event := begin(out, packetTaskState)
	out = appendUint(out, 1, uint64(cpu))
	if k.name != nil {
		out = appendString(out, 2, k.name)
	}
	out = appendInt(out, 3, int64(k.tid))
	out = appendUint(out, 4, state)
	out = appendInt(out, 5, int64(prio))
	end(out, event)
	end(out, packet)
	return out
}
