package assemble

import (
	"encoding/binary"
	"hash/fnv"

	"wprof/internal/python"
	"wprof/internal/ringdata"
	"wprof/internal/ruby"
)

// pythonCode is a code object of Python, or an iseq of Ruby, as its rec_code has it.
type pythonCode struct {
	language language
	function string // with its module
	file     string
	first    uint32 // line
	minor    int    // of version 3
	lines    []byte
	number   uint64 // the same for equal functions, of 44 bits
	used     uint32 // generation that has defined it last
}

// codeKey names a code object.
type codeKey struct {
	pid uint32
	id  uint64
}

// pythonTable keeps code objects while there is room: a thread may come back after generations with the stack that it has left with.
type pythonTable struct {
	all        map[codeKey]*pythonCode
	bytes      int
	generation uint32
}

const (
	// maxPythonBytes bounds the code objects. When it is reached those that the last two generations have not defined are dropped; if there is
	// still no room, frames of further ones have no name.
	maxPythonBytes = 32 << 20
	pythonCodeCost = 200
	numberBits     = 44
)

func newPythonTable() *pythonTable { return &pythonTable{all: make(map[codeKey]*pythonCode)} }

// rotate begins a generation.
func (p *pythonTable) rotate() { p.generation++ }

// keep keeps the content of a rec_code.
func (p *pythonTable) keep(b []byte) {
	le := binary.LittleEndian
	key := codeKey{le.Uint32(b[ringdata.CodePID:]), le.Uint64(b[ringdata.CodeID:])}
	code := p.all[key]
	if code == nil {
		if p.bytes > maxPythonBytes {
			p.drop()
		}
		if p.bytes > maxPythonBytes {
			return
		}
		code = readPythonCode(b)
		p.all[key] = code
		p.bytes += code.cost()
	}
	code.used = p.generation
}

// drop drops what was not defined in this generation or the one before.
func (p *pythonTable) drop() {
	for key, code := range p.all {
		if p.generation-code.used > 1 {
			delete(p.all, key)
			p.bytes -= code.cost()
		}
	}
}

// find returns a code object; nil: its definition was lost, or refused.
func (p *pythonTable) find(pid uint32, id uint64) *pythonCode { return p.all[codeKey{pid, id}] }

func readPythonCode(b []byte) *pythonCode {
	le := binary.LittleEndian
	text := b[ringdata.CodeText:]
	cut := func(n uint16) (part []byte) {
		part, text = text[:min(int(n), len(text))], text[min(int(n), len(text)):]
		return part
	}
	decode := func(b []byte, kind byte) string {
		if kind == 0 { // of Ruby
			return string(b)
		}
		return python.Text(b, int(kind&ringdata.CodeTextBytes), kind&ringdata.CodeTextAscii != 0)
	}
	name := decode(cut(le.Uint16(b[ringdata.CodeNameBytes:])), b[ringdata.CodeNameKind])
	file := decode(cut(le.Uint16(b[ringdata.CodeFileBytes:])), b[ringdata.CodeFileKind])
	code := &pythonCode{file: file, first: le.Uint32(b[ringdata.CodeFirstLine:]), minor: int(b[ringdata.CodeMinor]), lines: append([]byte(nil), text...)}
	code.function = unknownPython
	if code.language = languageOf(le.Uint64(b[ringdata.CodeID:])); code.language == ofRuby {
		code.function = ruby.FunctionName(file, name)
	} else if name != "" {
		code.function = python.FunctionName(file, name)
	}
	code.number = code.hash()
	return code
}

func (c *pythonCode) cost() int {
	return len(c.function) + len(c.file) + len(c.lines) + pythonCodeCost
}

// hash is FNV-1a of what a function is known by, so that it is the same in all recordings.
func (c *pythonCode) hash() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.function))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(c.file))
	_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, c.first))
	return h.Sum64() >> (64 - numberBits)
}

// line returns the line of an instruction, as the word of a frame has it; 0: it is not known.
func (c *pythonCode) line(at uint64) uint32 {
	units := int64(at)
	switch {
	case c.language == ofRuby:
		return rubyLine(at)
	case at == ringdata.PythonWordBefore:
		units = -1
	case at == ringdata.PythonWordFar:
		return 0
	case c.minor < 10:
		units /= 2
	}
	return python.LineOf(c.minor, c.lines, c.first, units)
}
