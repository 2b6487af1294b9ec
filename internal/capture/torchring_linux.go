package capture

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

const operatorWords = 7 // of the fields of an operator, in the table of sources

// operator appends an operator of PyTorch.
func (r *pythonRing) operator(o *torchOperator, opened int64) {
	r.textAt = min(r.since, o.End)
	values := [operatorWords]uint64{r.text(o.Name), r.text(o.Shapes), uint64(o.Scope), uint64(o.Sequence), uint64(o.Forward), uint64(o.Self)}
	flags := uint8(ringdata.FlagSubject)
	if o.open {
		flags |= ringdata.FlagOpen
	}
	start := o.Start
	if start == 0 {
		start, values[operatorWords-1] = opened, 1
	}
	cpu := o.CPU
	if int(cpu) >= r.cpus {
		cpu = 0
	}
	b := r.record(ringdata.KindTyped, flags, ringdata.TypedSize+8*operatorWords, o.End, cpu, o.TID)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.TypedStart:], uint64(start))
	le.PutUint32(b[ringdata.TypedType:], ringdata.TypeTorch)
	for i, v := range values {
		le.PutUint64(b[ringdata.TypedValues+8*i:], v)
	}
}
