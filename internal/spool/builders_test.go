package spool

import "encoding/binary"

func appendRecord(b []byte, record []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(record)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, record...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendPacked packs a switch, a waking or a return as the programs do.
func appendPacked(to []byte, record []byte) []byte {
	le := binary.LittleEndian
	var b []byte
	switch record[hdrKind] {
	case recSwitch:
		b = le.AppendUint32(b, le.Uint32(record[switchNext:]))
		b = le.AppendUint16(b, le.Uint16(record[switchPrevState:]))
		b = append(b, record[switchPrevPrio]+1, record[switchNextPrio]+1)
	case recWaking, recWakeupNew:
		b = le.AppendUint32(b, le.Uint32(record[wakingWakee:]))
		b = le.AppendUint16(b, le.Uint16(record[wakingTarget:]))
		b = append(b, record[wakingPrio]+1, 0)
	case recReturn:
		b = append(b, record[returnStacks:returnSize]...)
	}
	to = le.AppendUint32(to, uint32(len(b))|uint32(record[hdrFlags])<<13|uint32(record[hdrKind])<<21|1<<29)
	to = le.AppendUint32(to, uint32(recordTime(record)))
	return append(to, b...)
}

func header(b []byte, time int64, kind, flags uint8, cpu int, tid uint32) {
	le := binary.LittleEndian
	le.PutUint64(b[hdrTime:], uint64(time))
	b[hdrKind], b[hdrFlags] = kind, flags
	le.PutUint16(b[hdrCPU:], uint16(cpu))
	le.PutUint32(b[hdrTID:], tid)
}

func appendSwitch(to []byte, time int64, cpu int, prev, next uint32) []byte {
	return appendRecord(to, switchRecord(time, cpu, prev, next))
}

func appendPackedSwitch(to []byte, time int64, cpu int, prev, next uint32) []byte {
	return appendPacked(to, switchRecord(time, cpu, prev, next))
}

func switchRecord(time int64, cpu int, prev, next uint32) []byte {
	var b [switchSize]byte
	header(b[:], time, recSwitch, sides, cpu, prev)
	le := binary.LittleEndian
	le.PutUint32(b[switchNext:], next)
	le.PutUint32(b[switchPrevState:], 1)
	le.PutUint16(b[switchPrevPrio:], 120)
	le.PutUint16(b[switchNextPrio:], 120)
	return b[:]
}

func appendWaking(to []byte, time int64, cpu int, waker, wakee uint32) []byte {
	return appendRecord(to, wakingRecord(time, cpu, waker, wakee))
}

func appendPackedWaking(to []byte, time int64, cpu int, waker, wakee uint32) []byte {
	return appendPacked(to, wakingRecord(time, cpu, waker, wakee))
}

func wakingRecord(time int64, cpu int, waker, wakee uint32) []byte {
	var b [wakingSize]byte
	header(b[:], time, recWaking, sides, cpu, waker)
	le := binary.LittleEndian
	le.PutUint32(b[wakingWakee:], wakee)
	le.PutUint16(b[wakingPrio:], 120)
	le.PutUint16(b[wakingTarget:], uint16(cpu))
	return b[:]
}

func appendStack(to []byte, time int64, id uint64, pid uint32, count int, at func(i int) uint64) []byte {
	b := make([]byte, stackSize+8*count)
	header(b, time, recStack, 0, 0, pid)
	le := binary.LittleEndian
	le.PutUint64(b[stackID:], id)
	le.PutUint32(b[stackPID:], pid)
	le.PutUint32(b[stackCount:], uint32(count))
	for i := range count {
		le.PutUint64(b[stackAddrs+8*i:], at(i))
	}
	return appendRecord(to, b)
}

func appendSample(to []byte, time int64, tid uint32, user, kernel uint64) []byte {
	var b [sampleSize]byte
	header(b[:], time, recSample, recSubject, 0, tid)
	le := binary.LittleEndian
	le.PutUint64(b[sampleUser:], user)
	le.PutUint64(b[sampleKernel:], kernel)
	le.PutUint32(b[samplePID:], tid)
	le.PutUint32(b[sampleSource:], 1)
	return appendRecord(to, b[:])
}

func taskRecord(time int64, tid uint32) []byte {
	var b [taskSize]byte
	header(b[:], time, recTask, recSubject, 0, tid)
	le := binary.LittleEndian
	le.PutUint32(b[taskWho+identTID:], tid)
	le.PutUint32(b[taskWho+identPID:], tid)
	le.PutUint64(b[taskWho+identStart:], uint64(tid))
	copy(b[taskWho+identComm:], "pong")
	copy(b[taskWho+identProcessComm:], "pong")
	le.PutUint32(b[taskState:], 1)
	return b[:]
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}
