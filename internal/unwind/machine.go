package unwind

import (
	"bytes"
	"math"
)

// Call frame instructions: DWARF 5, 7.24, and GNU's additions (Linux Standard Base, core, 10.5).
const (
	cfaAdvance     = 0x40 // in the high two bits
	cfaOffset      = 0x80
	cfaRestore     = 0xc0
	cfaHighBits    = 0xc0
	cfaNop         = 0x00
	cfaSetLoc      = 0x01
	cfaAdvance1    = 0x02
	cfaAdvance2    = 0x03
	cfaAdvance4    = 0x04
	cfaOffsetExt   = 0x05
	cfaRestoreExt  = 0x06
	cfaUndefined   = 0x07
	cfaSameValue   = 0x08
	cfaRegister    = 0x09
	cfaRemember    = 0x0a
	cfaRestoreAll  = 0x0b
	cfaDef         = 0x0c
	cfaDefRegister = 0x0d
	cfaDefOffset   = 0x0e
	cfaDefExpr     = 0x0f
	cfaExpr        = 0x10
	cfaOffsetExtSF = 0x11
	cfaDefSF       = 0x12
	cfaDefOffsetSF = 0x13
	cfaValOffset   = 0x14
	cfaValOffsetSF = 0x15
	cfaValExpr     = 0x16
	cfaNegateRA    = 0x2d // of arm64: the return address is signed from here on, or no longer
	cfaGNUArgsSize = 0x2e
	cfaGNUNegative = 0x2f
)

// Numbers of registers: System V ABI, AMD64 supplement, 3.6.2.
const (
	regBX = 3
	regFP = 6
	regSP = 7
	regRA = 16
)

// placeInRegs are the places of registers in struct pt_regs (arch/x86/include/asm/ptrace.h), bytes.
var placeInRegs = [16]int16{80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0}

const (
	wordSize = 8
	// maxRemembered bounds nested cfaRemember instructions.
	maxRemembered = 64
)

// state is a row of the file's call frame table: what holds at one place of the code.
type state struct {
	cfa          Rule // Base, Offset and Add
	cfaRegister  uint64
	cfaComputed  bool // by an expression
	fp           Rule // Saved and FPOffset
	bx           int16
	raUndefined  bool
	raElsewhere  bool
	raRegister   uint64 // where it is; 0: in none
	raFromSignal bool
}

// machine executes the instructions of one entry.
type machine struct {
	cie        *common
	initial    state
	now        state
	remembered []state
	pc, end    uint64
	emit       func(pc uint64, r Rule)
	failed     bool
}

// run emits the rules of an entry's code, at the places where they change. It returns false if the instructions are
// malformed; what was emitted before holds.
func (m *machine) run(e *entry, emit func(pc uint64, r Rule)) bool {
	*m = machine{cie: e.cie, pc: e.begin, end: e.end, emit: emit, remembered: m.remembered[:0]}
	m.execute(e.cie.instructions)
	m.initial = m.now
	m.execute(e.instructions)
	if m.pc < m.end {
		m.emit(m.pc, m.rule())
	}
	return !m.failed
}

func (m *machine) execute(instructions []byte) {
	c := &cursor{b: instructions}
	for !c.done() && !m.failed && m.pc < m.end {
		op := c.u8()
		switch op & cfaHighBits {
		case cfaAdvance:
			m.advance(uint64(op &^ cfaHighBits))
		case cfaOffset:
			m.saved(uint64(op&^cfaHighBits), int64(c.uleb())*m.cie.dataAlign)
		case cfaRestore:
			m.restore(uint64(op &^ cfaHighBits))
		default:
			m.extended(op, c)
		}
		m.failed = m.failed || c.failed
	}
}

func (m *machine) extended(op uint8, c *cursor) {
	switch op {
	case cfaNop, cfaNegateRA:
	case cfaSetLoc:
		m.failed = true // no compiler emits it, and an encoding is needed to read it
	case cfaAdvance1:
		m.advance(uint64(c.u8()))
	case cfaAdvance2:
		m.advance(uint64(c.u16()))
	case cfaAdvance4:
		m.advance(uint64(c.u32()))
	case cfaRemember:
		if m.failed = len(m.remembered) >= maxRemembered; !m.failed {
			m.remembered = append(m.remembered, m.now)
		}
	case cfaRestoreAll:
		last := len(m.remembered) - 1
		if m.failed = last < 0; !m.failed {
			m.now, m.remembered = m.remembered[last], m.remembered[:last]
		}
	case cfaGNUArgsSize:
		c.uleb()
	case cfaDef, cfaDefRegister, cfaDefOffset, cfaDefSF, cfaDefOffsetSF, cfaDefExpr:
		m.define(op, c)
	default:
		m.register(op, c)
	}
}

// define executes the instructions about the CFA.
func (m *machine) define(op uint8, c *cursor) {
	s := &m.now
	switch op {
	case cfaDef:
		s.cfaRegister = c.uleb()
		s.setOffset(int64(c.uleb()))
	case cfaDefSF:
		s.cfaRegister = c.uleb()
		s.setOffset(c.sleb() * m.cie.dataAlign)
	case cfaDefRegister:
		s.cfaRegister = c.uleb()
		s.setOffset(int64(s.cfa.Offset))
	case cfaDefOffset:
		s.setOffset(int64(c.uleb()))
	case cfaDefOffsetSF:
		s.setOffset(c.sleb() * m.cie.dataAlign)
	case cfaDefExpr:
		s.cfa, s.cfaComputed = cfaOf(c.take(c.uleb())), true
		s.raFromSignal = m.cie.signal
	}
}

// setOffset makes the CFA a register plus an offset.
func (s *state) setOffset(offset int64) {
	s.cfa, s.cfaComputed = Rule{Offset: int32(offset)}, false
	s.raFromSignal = false
	switch {
	case int64(s.cfa.Offset) != offset:
	case s.cfaRegister == regSP:
		s.cfa.Base = SP
	case s.cfaRegister == regFP:
		s.cfa.Base = FP
	case s.cfaRegister < uint64(len(placeInRegs)):
		s.cfa.Base, s.cfa.Add = Register, placeInRegs[s.cfaRegister]
	}
}

// register executes the instructions about other registers.
func (m *machine) register(op uint8, c *cursor) {
	reg := c.uleb()
	switch op {
	case cfaOffsetExt:
		m.saved(reg, int64(c.uleb())*m.cie.dataAlign)
	case cfaOffsetExtSF:
		m.saved(reg, c.sleb()*m.cie.dataAlign)
	case cfaGNUNegative:
		m.saved(reg, -int64(c.uleb())*m.cie.dataAlign)
	case cfaRestoreExt:
		m.restore(reg)
	case cfaUndefined:
		m.lost(reg)
		m.now.raUndefined = m.now.raUndefined || reg == regRA
	case cfaSameValue:
		m.kept(reg)
	case cfaRegister:
		in := c.uleb()
		m.lost(reg)
		if reg == regRA {
			m.now.raRegister = in
		}
	case cfaExpr:
		m.expression(reg, c.take(c.uleb()))
	case cfaValOffset:
		c.uleb()
		m.lost(reg)
	case cfaValOffsetSF:
		c.sleb()
		m.lost(reg)
	case cfaValExpr:
		c.take(c.uleb())
		m.lost(reg)
	default:
		m.failed = true
	}
}

func (m *machine) saved(reg uint64, offset int64) {
	switch reg {
	case regFP:
		m.now.fp = savedAt(AtCFA, offset)
	case regBX:
		if m.now.bx = int16(offset); int64(m.now.bx) != offset {
			m.now.bx = bxGone
		}
	case regRA:
		m.now.raUndefined, m.now.raElsewhere, m.now.raRegister = false, offset != -wordSize, 0
	}
}

func savedAt(where Saved, offset int64) Rule {
	if offset < math.MinInt16 || offset > math.MaxInt16 {
		return Rule{Saved: Gone}
	}
	return Rule{Saved: where, FPOffset: int16(offset)}
}

func (m *machine) kept(reg uint64) {
	switch reg {
	case regFP:
		m.now.fp = Rule{}
	case regBX:
		m.now.bx = 0
	case regRA:
		m.now.raElsewhere, m.now.raRegister = true, 0
	}
}

func (m *machine) lost(reg uint64) {
	switch reg {
	case regFP:
		m.now.fp = Rule{Saved: Gone}
	case regBX:
		m.now.bx = bxGone
	case regRA:
		m.now.raElsewhere, m.now.raRegister = true, 0
	}
}

func (m *machine) restore(reg uint64) {
	switch reg {
	case regFP:
		m.now.fp = m.initial.fp
	case regBX:
		m.now.bx = m.initial.bx
	case regRA:
		m.now.raUndefined, m.now.raElsewhere, m.now.raRegister = m.initial.raUndefined, m.initial.raElsewhere, m.initial.raRegister
	}
}

// expression records that a register is saved at the address that an expression computes.
func (m *machine) expression(reg uint64, code []byte) {
	switch reg {
	case regRA, regBX:
		m.lost(reg)
	case regFP:
		m.now.fp = Rule{Saved: Gone}
		c := &cursor{b: code}
		op := c.u8()
		offset := c.sleb()
		switch {
		case c.failed || !c.done():
		case op == opBreg+regFP:
			m.now.fp = savedAt(AtOwnFP, offset)
		case op == opBreg+regSP:
			m.now.fp = savedAt(AtOwnSP, offset)
		}
	}
}

// advance emits the rule of the code up to a later place.
func (m *machine) advance(units uint64) {
	step := units * m.cie.codeAlign
	if step == 0 {
		return
	}
	if step/m.cie.codeAlign != units || step > m.end-m.pc {
		step = m.end - m.pc
	}
	m.emit(m.pc, m.rule())
	m.pc += step
}

// rule returns the rule of the current state.
func (m *machine) rule() Rule {
	s := &m.now
	switch {
	case s.raFromSignal:
		return Rule{Base: Signal}
	case s.raUndefined:
		return Rule{Base: Root}
	}
	r := s.cfa
	switch {
	case s.raElsewhere && s.cfa.Base == SP && s.raRegister > 0 && s.raRegister < uint64(len(placeInRegs)):
		r.Base, r.Add = InRegister, placeInRegs[s.raRegister]
	case s.raElsewhere || s.cfa.Base == Unknown:
		return Rule{}
	}
	if r.Base != PLT {
		r.Saved, r.FPOffset, r.BX = s.fp.Saved, s.fp.FPOffset, s.bx
	}
	return r
}

// Operations of expressions: DWARF 5, 7.7.1.
const (
	opDeref      = 0x06
	opPlusUconst = 0x23
	opBreg       = 0x70 // plus the register
)

// pltExpression is the CFA in a procedure linkage table, the same for all linkers: from byte 11 of each entry of 16 bytes on,
// the index has been pushed.
var pltExpression = []byte{opBreg + regSP, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}

// cfaOf recognises the expressions that compilers and assemblers make for a CFA: a word in memory, and a number added to it.
func cfaOf(code []byte) (r Rule) {
	if bytes.Equal(code, pltExpression) {
		return Rule{Base: PLT}
	}
	c := &cursor{b: code}
	switch c.u8() {
	case opBreg + regSP:
		r.Base = AtSP
	case opBreg + regFP:
		r.Base = AtFP
	default:
		return Rule{}
	}
	offset := c.sleb()
	r.Offset = int32(offset)
	known := int64(r.Offset) == offset && c.u8() == opDeref
	if !c.done() {
		known = known && c.u8() == opPlusUconst
		add := c.uleb()
		known = known && add <= math.MaxInt16
		r.Add = int16(add)
	}
	if !known || c.failed || !c.done() {
		return Rule{}
	}
	return r
}
