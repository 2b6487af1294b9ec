package assemble

import (
	"bytes"
	"encoding/binary"

	"wprof/internal/merge"
	"wprof/internal/ringdata"
)

func appendRecord(b []byte, record []byte) []byte {
	record, parts, flag := cutParts(record)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(record)+len(parts))|flag)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(append(b, record...), parts...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// cutParts splits a record as [ringdata.Decoder] makes it into what the programs write: the record, its parts, and the flag of its header.
func cutParts(record []byte) (plain, parts []byte, flag uint32) {
	at := len(record) - ringdata.StacksSize - ringdata.WaitPartSize
	if record[ringdata.HdrKind] > ringdata.KindWakeupNew || record[ringdata.HdrFlags]&ringdata.FlagParts == 0 {
		return record, nil, 0
	}
	plain = bytes.Clone(record[:at])
	plain[ringdata.HdrFlags] &^= ringdata.FlagParts
	stacks, wait := record[at:][:ringdata.StacksSize], record[at+ringdata.StacksSize:]
	isSet := func(b []byte) bool { return len(bytes.Trim(b, "\x00")) > 0 }
	list := [ringdata.PartsSize]byte{}
	words := list[ringdata.PartsWords:]
	if isSet(stacks) || !isSet(wait) {
		parts, list[ringdata.PartsMask] = append(parts, stacks...), ringdata.PartStacks
		words[0], words = ringdata.StacksSize/8, words[1:]
	}
	if isSet(wait) {
		parts, list[ringdata.PartsMask] = append(parts, wait...), list[ringdata.PartsMask]|ringdata.PartWait
		words[0] = ringdata.WaitPartSize / 8
	}
	return plain, append(parts, list[:]...), ringdata.HeaderParts
}

// appendPacked packs a switch, a waking or a return as the programs do.
func appendPacked(to []byte, record []byte) []byte {
	le := binary.LittleEndian
	var b []byte
	record, parts, flag := cutParts(record)
	switch record[ringdata.HdrKind] {
	case ringdata.KindSwitch:
		b = le.AppendUint32(b, le.Uint32(record[ringdata.SwitchNextTID:]))
		b = le.AppendUint16(b, le.Uint16(record[ringdata.SwitchPrevState:]))
		b = append(b, record[ringdata.SwitchPrevPrio]+1, record[ringdata.SwitchNextPrio]+1)
	case ringdata.KindWaking, ringdata.KindWakeupNew:
		b = le.AppendUint32(b, le.Uint32(record[ringdata.WakingWakeeTID:]))
		b = le.AppendUint16(b, le.Uint16(record[ringdata.WakingTargetCPU:]))
		b = append(b, record[ringdata.WakingPrio]+1, 0)
	case ringdata.KindReturn:
		b = append(b, record[ringdata.ReturnStacks:ringdata.ReturnSize]...)
	}
	b = append(b, parts...)
	to = le.AppendUint32(to, uint32(len(b))|flag|uint32(record[ringdata.HdrFlags])<<ringdata.HeaderFlagsShift|uint32(record[ringdata.HdrKind])<<ringdata.HeaderKindShift|ringdata.HeaderPacked)
	to = le.AppendUint32(to, uint32(merge.RecordTime(record)))
	return append(to, b...)
}

func header(b []byte, time int64, kind, flags uint8, cpu int, tid uint32) {
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.HdrTS:], uint64(time))
	b[ringdata.HdrKind], b[ringdata.HdrFlags] = kind, flags
	le.PutUint16(b[ringdata.HdrCPU:], uint16(cpu))
	le.PutUint32(b[ringdata.HdrTID:], tid)
}

func appendSwitch(to []byte, time int64, cpu int, prev, next uint32) []byte {
	return appendRecord(to, switchRecord(time, cpu, prev, next))
}

func appendPackedSwitch(to []byte, time int64, cpu int, prev, next uint32) []byte {
	return appendPacked(to, switchRecord(time, cpu, prev, next))
}

func switchRecord(time int64, cpu int, prev, next uint32) []byte {
	var b [ringdata.SwitchSize]byte
	header(b[:], time, ringdata.KindSwitch, sides, cpu, prev)
	le := binary.LittleEndian
	le.PutUint32(b[ringdata.SwitchNextTID:], next)
	le.PutUint32(b[ringdata.SwitchPrevState:], 1)
	le.PutUint16(b[ringdata.SwitchPrevPrio:], 120)
	le.PutUint16(b[ringdata.SwitchNextPrio:], 120)
	return b[:]
}

func appendWaking(to []byte, time int64, cpu int, waker, wakee uint32) []byte {
	return appendRecord(to, wakingRecord(time, cpu, waker, wakee))
}

func appendPackedWaking(to []byte, time int64, cpu int, waker, wakee uint32) []byte {
	return appendPacked(to, wakingRecord(time, cpu, waker, wakee))
}

func wakingRecord(time int64, cpu int, waker, wakee uint32) []byte {
	var b [ringdata.WakingSize]byte
	header(b[:], time, ringdata.KindWaking, sides, cpu, waker)
	le := binary.LittleEndian
	le.PutUint32(b[ringdata.WakingWakeeTID:], wakee)
	le.PutUint16(b[ringdata.WakingPrio:], 120)
	le.PutUint16(b[ringdata.WakingTargetCPU:], uint16(cpu))
	return b[:]
}

func appendStack(to []byte, time int64, id uint64, pid uint32, count int, at func(i int) uint64) []byte {
	b := make([]byte, ringdata.StackSize+8*count)
	header(b, time, ringdata.KindStack, 0, 0, pid)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.StackID:], id)
	le.PutUint32(b[ringdata.StackPID:], pid)
	le.PutUint16(b[ringdata.StackCount:], uint16(count))
	for i := range count {
		le.PutUint64(b[ringdata.StackAddrs+8*i:], at(i))
	}
	return appendRecord(to, b)
}

func appendSample(to []byte, time int64, tid uint32, user, kernel uint64) []byte {
	var b [ringdata.SampleSize]byte
	header(b[:], time, ringdata.KindSample, ringdata.FlagSubject, 0, tid)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.SampleUser:], user)
	le.PutUint64(b[ringdata.SampleKernel:], kernel)
	le.PutUint32(b[ringdata.SamplePID:], tid)
	le.PutUint32(b[ringdata.SampleSource:], 1)
	return appendRecord(to, b[:])
}

func taskRecord(time int64, tid uint32) []byte {
	var b [ringdata.TaskSize]byte
	header(b[:], time, ringdata.KindTask, ringdata.FlagSubject, 0, tid)
	le := binary.LittleEndian
	le.PutUint32(b[ringdata.TaskIdent+ringdata.IdentTID:], tid)
	le.PutUint32(b[ringdata.TaskIdent+ringdata.IdentPID:], tid)
	le.PutUint64(b[ringdata.TaskIdent+ringdata.IdentStartNS:], uint64(tid))
	copy(b[ringdata.TaskIdent+ringdata.IdentComm:], "pong")
	copy(b[ringdata.TaskIdent+ringdata.IdentProcessComm:], "pong")
	le.PutUint32(b[ringdata.TaskState:], 1)
	return b[:]
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}
