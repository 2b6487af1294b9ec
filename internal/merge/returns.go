package merge

import (
	"encoding/binary"
	"math"
	"slices"

	"wprof/internal/ringdata"
)

// A switch that announces a stack is written with it, though the stack's record comes after: so the switch waits until
// that record has been read, and everything that is older than it, because the stack's definition may stand in another
// ring. If the CPU's next switch comes first, the return was lost.

// announced is a switch whose return (rec_return) has not been read.
type announced struct {
	cpu  uint16
	at   uint64 // as entry.at
	time int64
}

// resolved is a switch whose return has been read.
type resolved struct{ time, returned int64 }

// returnWait is how long a switch waits for its return at the end of a ring, ns: the thread takes its stack at once, except
// on a virtual CPU that the hypervisor has descheduled.
const returnWait = int64(1e9)

// followReturns keeps track of switches that wait for a return, and of their stacks.
func (s *source) followReturns(b []byte, time int64, at uint64) {
	switch b[ringdata.HdrKind] {
	case ringdata.KindSwitch:
		cpu := binary.LittleEndian.Uint16(b[ringdata.HdrCPU:])
		s.giveUp(cpu)
		if b[ringdata.HdrFlags]&ringdata.FlagAnnounced != 0 {
			s.announced = append(s.announced, announced{cpu, at, time})
		}
	case ringdata.KindReturn:
		s.returned(b, time, at)
	case ringdata.KindStack, ringdata.KindWait, ringdata.KindCode:
		s.early(b)
	}
}

// giveUp stops waiting for the return that is announced on a CPU.
func (s *source) giveUp(cpu uint16) {
	for i := range s.announced {
		if s.announced[i].cpu == cpu {
			last := len(s.announced) - 1
			s.announced[i] = s.announced[last]
			s.announced = s.announced[:last]
			return
		}
	}
}

// returned writes the distance to the return into the switch.
func (s *source) returned(b []byte, time int64, at uint64) {
	le := binary.LittleEndian
	cpu := le.Uint16(b[ringdata.HdrCPU:])
	for _, a := range s.announced {
		if a.cpu != cpu || a.at < s.base {
			continue
		}
		change := s.buf[a.at-s.base+ringdata.HeaderBytes:]
		if distance := at - a.at; le.Uint32(change[ringdata.SwitchNextTID:]) == le.Uint32(b[ringdata.HdrTID:]) && distance <= math.MaxUint32 {
			le.PutUint32(change[ringdata.SwitchDistance:], uint32(distance))
			s.resolved = append(s.resolved, resolved{a.time, time})
		}
		s.giveUp(cpu)
		return
	}
}

// held is the time of the first switch that waits for its return, or for what is older than that. Everything before
// certain has been drained.
func (s *source) held(certain int64) int64 {
	first := int64(never)
	rest := s.resolved[:0]
	for _, a := range s.resolved {
		if a.returned >= certain {
			rest = append(rest, a)
			first = min(first, a.time)
		}
	}
	s.resolved = rest
	if s.mark == never && s.front == len(s.extents) {
		s.announced = s.announced[:0] // nothing follows
	}
	if s.front < len(s.extents) {
		return first // the return may be in what is still to be read, see readToReturn
	}
	for i := 0; i < len(s.announced); {
		a := s.announced[i]
		if s.mark-a.time > returnWait {
			s.giveUp(a.cpu)
			continue
		}
		first = min(first, a.time)
		i++
	}
	return first
}

// announces reports whether the record at a place is a switch whose return has not been read.
func (s *source) announces(at uint64) bool {
	return slices.ContainsFunc(s.announced, func(a announced) bool { return a.at == at })
}

// ReturnOf is the struct rec_return that a switch has announced, FirstReturnSize bytes of it at least; nil: there is none. The switch is a
// part of its source's buffer.
func ReturnOf(change []byte) []byte {
	le := binary.LittleEndian
	distance := uint64(le.Uint32(change[ringdata.SwitchDistance:]))
	buf := change[:cap(change)]
	if distance < ringdata.SwitchSize || distance+FirstReturnSize > uint64(len(buf)) || buf[distance+ringdata.HdrKind] != ringdata.KindReturn {
		return nil
	}
	length := binary.LittleEndian.Uint32(buf[distance-ringdata.HeaderBytes:])
	return buf[distance:][:min(uint64(length), uint64(len(buf))-distance)]
}

// readAhead reads the other rings up to a time: a stack may be defined there, by a record whose turn has not come.
func (m *merger) readAhead(to int64) error {
	for _, s := range m.sources {
		if s.tasks || s.side || len(m.heap) > 0 && s == m.heap[0] {
			continue
		}
		for s.front < len(s.extents) && s.newest <= to {
			e := s.extents[s.front]
			s.front++
			if err := s.load(&e); err != nil {
				return err
			}
		}
		s.sort()
	}
	return nil
}
