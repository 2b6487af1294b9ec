package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

func (a *applier) applySample(b []byte, at int64) error {
	_ = b[ringdata.SampleSize-1]
	le := binary.LittleEndian
	flags := b[ringdata.HdrFlags] & ringdata.FlagSubject
	if at < a.out.from || flags == 0 {
		return nil
	}
	t := a.subject(b)
	e := &a.sampled
	e.Flags, e.CPU = format.Flags(flags), uint32(le.Uint16(b[ringdata.HdrCPU:]))
	e.Task = a.out.name(t)
	e.Args[format.SampleStack] = uint64(a.code.sampled(le.Uint64(b[ringdata.SampleUser:]), le.Uint64(b[ringdata.SampleKernel:]), at))
	e.Args[format.SampleSource] = uint64(le.Uint32(b[ringdata.SampleSource:]))
	if a.seesCounts(e.CPU, 0) {
		a.setCounts(e, b, ringdata.SampleSize, format.SampleHasCounts)
	}
	return a.out.write(e, at)
}

// stackIDs are those of a struct rec_stacks.
func stackIDs(b []byte) (user, kernel uint64) {
	le := binary.LittleEndian
	return le.Uint64(b[ringdata.StacksUser:]), le.Uint64(b[ringdata.StacksKernel:])
}

// trailing is the struct rec_stacks and the struct rec_wait_part behind the fixed part of a record; nil: there are none.
func trailing(b []byte, at int) []byte {
	if b[ringdata.HdrFlags]&ringdata.FlagParts == 0 || len(b) < at+ringdata.StacksSize+ringdata.WaitPartSize {
		return nil
	}
	return b[at:]
}
