package spool

import (
	"encoding/binary"

	"wprof/format"
)

func (a *applier) applySample(b []byte, at int64) error {
	_ = b[sampleSize-1]
	le := binary.LittleEndian
	flags := b[hdrFlags] & recSubject
	if at < a.out.from || flags == 0 {
		return nil
	}
	t := a.subject(b)
	e := &a.sampled
	e.Flags, e.CPU = format.Flags(flags), uint32(le.Uint16(b[hdrCPU:]))
	e.Task = a.out.name(t)
	e.Args[format.SampleStack] = uint64(a.code.sampled(le.Uint64(b[sampleUser:]), le.Uint64(b[sampleKernel:]), at))
	e.Args[format.SampleSource] = uint64(le.Uint32(b[sampleSource:]))
	return a.out.write(e, at)
}

// stackIDs are those of a struct rec_stacks.
func stackIDs(b []byte) (user, kernel uint64) {
	le := binary.LittleEndian
	return le.Uint64(b[stacksUser:]), le.Uint64(b[stacksKernel:])
}

// trailing is the struct rec_stacks behind the fixed part of a record; nil: there is none.
func trailing(b []byte, at int) []byte {
	if b[hdrFlags]&recStacked == 0 || len(b) < at+stacksSize {
		return nil
	}
	return b[at:]
}
