package capture

import (
	"encoding/binary"
	"slices"

	"wprof/internal/python"
	"wprof/internal/ringdata"
)

const (
	callWords       = 6 // of the fields of a call, in the table of sources
	callRecordBytes = ringdata.HeaderBytes + ringdata.TypedSize + 8*callWords
	// maxPythonTexts bounds the names that are kept for a recording: functions, modules and files.
	maxPythonTexts = 1 << 16
	// firstPythonText keeps their ids apart from those of the kernel programs, which are hashes of 32 bits or addresses of the kernel.
	firstPythonText = 0x5079 << 40
)

// functionNames are the ids of a function's texts, if the generation has them.
type functionNames struct {
	generation                   uint32
	function, module, file, line uint64
}

// pythonRing has records as the kernel programs write them.
type pythonRing struct {
	bytes      []byte
	consumed   uint64            // bytes before these
	texts      map[string]uint64 // ids
	defined    map[uint64]bool   // texts that the generation has
	generation uint32
	cpus       int    // that there may be: processes may say anything
	behind     uint64 // calls that wait outside
	textAt     int64  // time of texts: not later than the call that has them
	base       uint64 // of its ids, which differ from those of other such rings
	since      int64  // when it was filled before: what ended earlier has been read
}

func (r *pythonRing) written() uint64 { return r.consumed + uint64(len(r.bytes)) }

func (r *pythonRing) consume(n int) {
	r.consumed += uint64(n)
	r.bytes = r.bytes[:copy(r.bytes, r.bytes[n:])]
}

// forget has texts written again where they are used: a generation has all that it uses.
func (r *pythonRing) forget() {
	r.generation++
	clear(r.defined)
}

// record appends a record of a kind with room for its struct, and returns it.
func (r *pythonRing) record(kind, flags uint8, length int, at int64, cpu uint16, tid uint32) []byte {
	le, from, room := binary.LittleEndian, len(r.bytes), (ringdata.HeaderBytes+length+7)&^7
	r.bytes = slices.Grow(r.bytes, room)[:from+room]
	clear(r.bytes[from:])
	le.PutUint32(r.bytes[from:], uint32(length))
	b := r.bytes[from+ringdata.HeaderBytes:]
	le.PutUint64(b[ringdata.HdrTS:], uint64(at))
	b[ringdata.HdrKind], b[ringdata.HdrFlags] = kind, flags
	le.PutUint16(b[ringdata.HdrCPU:], cpu)
	le.PutUint32(b[ringdata.HdrTID:], tid)
	return b
}

// text returns the id of a text, which it writes if the generation does not have it.
func (r *pythonRing) text(s string) uint64 {
	if s == "" {
		return 0
	}
	id, known := r.texts[s]
	if !known {
		if len(r.texts) >= maxPythonTexts {
			return 0
		}
		if r.texts == nil {
			r.texts, r.defined = make(map[string]uint64), make(map[uint64]bool)
		}
		id = firstPythonText + r.base + uint64(len(r.texts))
		r.texts[s] = id
	}
	if !r.defined[id] {
		r.defined[id] = true
		b := r.record(ringdata.KindText, 0, max(ringdata.TextText+len(s)+1, ringdata.TextSize), r.textAt, 0, 0)
		binary.LittleEndian.PutUint64(b[ringdata.TextID:], id)
		copy(b[ringdata.TextText:], s)
	}
	return id
}

// span is a call or an operator.
type span struct {
	start, end int64
	cpu        uint16
	tid        uint32
	open       bool
}

// call appends a call.
func (r *pythonRing) call(c *pythonCall, opened int64) {
	r.textAt = min(r.since, c.End)
	values := r.values(c)
	r.typed(ringdata.TypePython, span{c.Start, c.End, c.CPU, c.TID, c.open}, values[:], opened)
}

// typed appends a span of a type, whose last value is whether it began before the window.
func (r *pythonRing) typed(kind uint32, s span, values []uint64, opened int64) {
	flags := uint8(ringdata.FlagSubject)
	if s.open {
		flags |= ringdata.FlagOpen
	}
	if s.start == 0 {
		s.start, values[len(values)-1] = opened, 1
	}
	if int(s.cpu) >= r.cpus {
		s.cpu = 0
	}
	b := r.record(ringdata.KindTyped, flags, ringdata.TypedSize+8*len(values), s.end, s.cpu, s.tid)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.TypedStart:], uint64(s.start))
	le.PutUint32(b[ringdata.TypedType:], kind)
	for i, v := range values {
		le.PutUint64(b[ringdata.TypedValues+8*i:], v)
	}
}

func (r *pythonRing) values(c *pythonCall) (v [callWords]uint64) {
	v[4] = uint64(c.Self)
	for int(c.Code) >= len(c.of.names) {
		c.of.names = append(c.of.names, functionNames{})
	}
	n := &c.of.names[c.Code]
	if n.generation != r.generation {
		n.generation = r.generation
		if f := c.of.Function(c.Code); f != nil {
			n.function, n.module, n.file, n.line = r.text(python.FunctionName(f.File, f.Name)), r.text(python.Module(f.File)), r.text(f.File), uint64(f.Line)
		}
	}
	v[0], v[1], v[2], v[3] = n.function, n.module, n.file, n.line
	return v
}

// lose appends that records of a type are missing, for a cause.
func (r *pythonRing) lose(kind int, n uint64, at int64, cause uint32) {
	if n == 0 {
		return
	}
	b := r.record(ringdata.KindMissing, 0, ringdata.MissingSize, at, 0, 0)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.MissingFrom:], uint64(r.since))
	le.PutUint32(b[ringdata.MissingCause:], cause)
	le.PutUint32(b[ringdata.MissingCounts+4*kind:], uint32(min(n, 1<<32-1)))
}
