package usercode

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"reflect"
	"testing"

	"wprof/internal/probe"
)

// testEvaluator is an evaluator without a file.
func testEvaluator(m elf.Machine) *evaluator {
	machine := machineOf(m)
	v := &evaluator{machine: machine, order: binary.LittleEndian, at: 0x1000}
	v.cfa = func() (operand, error) {
		o := inRegister(Register{Offset: machine.sp, Size: 8})
		o.add(16)
		return o, nil
	}
	v.base = v.cfa
	v.indexed = func(index uint64) (uint64, bool) { return 0x2000 + 8*index, index < 4 }
	return v
}

// TestLocations compares with the meaning of operations in the standard: DWARF 5, 2.5 and 2.6.
func TestLocations(t *testing.T) {
	memory := func(from probe.From, steps ...probe.Step) value {
		return value{{size: allBytes, operand: operand{from: from, steps: steps, inMemory: true}}}
	}
	rsp, rbp, rip := register(152, 8, false), register(32, 8, false), register(128, 8, false)
	for name, c := range map[string]struct {
		expression []byte
		want       value
	}{
		"DW_OP_fbreg -24":                    {[]byte{0x91, 0x68}, memory(rsp, add(-8))},
		"DW_OP_call_frame_cfa":               {[]byte{0x9c}, memory(rsp, add(16))},
		"DW_OP_breg6 8":                      {[]byte{0x76, 8}, memory(rbp, add(8))},
		"DW_OP_bregx 6 8":                    {[]byte{0x92, 6, 8}, memory(rbp, add(8))},
		"DW_OP_reg6":                         {[]byte{0x56}, value{{size: allBytes, operand: operand{from: rbp}}}},
		"DW_OP_breg6 0, DW_OP_stack_value":   {[]byte{0x76, 0, 0x9f}, value{{size: allBytes, operand: operand{from: rbp}}}},
		"DW_OP_addr 0x1234":                  {[]byte{0x03, 0x34, 0x12, 0, 0, 0, 0, 0, 0}, memory(rip, add(0x234))},
		"DW_OP_addrx 1":                      {[]byte{0xa1, 1}, memory(rip, add(0x1008))},
		"DW_OP_breg6 8, deref, plus_uconst":  {[]byte{0x76, 8, 0x06, 0x23, 0x80, 1}, memory(rbp, add(8), load(8, false), add(128))},
		"DW_OP_lit5, DW_OP_breg6 0, minus":   {[]byte{0x76, 0, 0x35, 0x1c}, memory(rbp, add(-5))},
		"DW_OP_breg6 0, DW_OP_breg7 0, plus": {[]byte{0x76, 0, 0x77, 0, 0x22}, memory(rbp, index(152, 1))},
		"DW_OP_lit5, DW_OP_stack_value":      {[]byte{0x35, 0x9f}, whole(constant(5))},
		"pieces": {[]byte{0x56, 0x93, 8, 0x93, 4, 0x77, 0, 0x93, 4}, value{
			{size: 8, operand: operand{from: rbp}}, {at: 8, size: 4, err: errOptimised},
			{at: 12, size: 4, operand: operand{from: rsp, inMemory: true}}}},
		"pieces that are one":      {[]byte{0x91, 0, 0x93, 8, 0x91, 8, 0x93, 8}, value{{size: 16, operand: operand{from: rsp, steps: []probe.Step{add(16)}, inMemory: true}}}},
		"nothing":                  {nil, unreadable(errOptimised)},
		"DW_OP_entry_value":        {[]byte{0xa3, 1, 0x55, 0x9f}, unreadable(errEntryValue)},
		"DW_OP_implicit_pointer":   {[]byte{0xa0, 0, 0, 0, 0, 0}, unreadable(errPointer)},
		"DW_OP_form_tls_address":   {[]byte{0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x9b}, unreadable(errThread)},
		"DW_OP_and":                {[]byte{0x76, 0, 0x35, 0x1a}, unreadable(errComputed)},
		"cut":                      {[]byte{0x03, 1}, unreadable(errExpression)},
		"nothing on the stack":     {[]byte{0x06}, unreadable(errExpression)},
		"DW_OP_breg17, a vector's": {[]byte{0x70 + 17, 0}, unreadable(errVector)},
	} {
		got := testEvaluator(elf.EM_X86_64).evaluate(c.expression)
		if len(got) != len(c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
			continue
		}
		for i := range got {
			if len(got[i].steps) == 0 {
				got[i].steps = nil
			}
			if !reflect.DeepEqual(got[i], c.want[i]) {
				t.Errorf("%s:\n got %+v\nwant %+v", name, got[i], c.want[i])
			}
		}
	}
}

func FuzzLocation(f *testing.F) {
	for _, b := range [][]byte{{0x91, 0x68}, {0x9c, 0x06, 0x23, 8}, {0x56, 0x93, 8, 0x50, 0x93, 8}, {0x76, 0, 0x77, 0, 0x22}, {0xa1, 1, 0x9f}} {
		f.Add(b, true, int64(0), int64(8))
		f.Add(b, false, int64(8), int64(4))
	}
	f.Fuzz(func(t *testing.T, b []byte, isArm bool, at, size int64) {
		m := elf.EM_X86_64
		if isArm {
			m = elf.EM_AARCH64
		}
		v := testEvaluator(m).evaluate(b).from(at & 0xff)
		p, err := v.part(0, size&0xff)
		if err != nil {
			return
		}
		if len(p.steps) > maxSteps {
			t.Fatalf("%d steps", len(p.steps))
		}
		checkPlan(t, m, &probe.Read{From: p.from, Steps: p.steps, Leaf: probe.Leaf{Kind: probe.LeafNumber, Size: 8}})
	})
}

func FuzzLocationLists(f *testing.F) {
	f.Add([]byte{4, 0, 8, 2, 0x91, 0x68, 0}, uint64(4))
	f.Add([]byte{8, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0x50, 0}, uint64(4))
	f.Fuzz(func(t *testing.T, b []byte, address uint64) {
		u := &unit{d: &dwarfData{order: binary.LittleEndian, addr: b}, low: 0}
		u.entry = &dwarf.Entry{}
		u.list4(&bytesReader{b: b, order: u.d.order}, address)
		u.list5(&bytesReader{b: b, order: u.d.order}, address)
	})
}
