//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"wprof/internal/packetfilter"
)

// packetFunction is the function of packet.h whose code is replaced.
const packetFunction = "packet_wanted"

// setPackets puts the code of the filter of packets into the programs.
func (o *Options) setPackets(spec *ebpf.CollectionSpec) error {
	if o.Packets == nil {
		return nil
	}
	for name, program := range spec.Programs {
		code, err := withPacketFilter(program.Instructions, o.Packets, spec.Types)
		if err != nil {
			return fmt.Errorf("put the filter of packets into %s: %w", name, err)
		}
		program.Instructions = code
	}
	return nil
}

// withPacketFilter returns a program with the code of the filter, if it calls the function of it.
func withPacketFilter(program asm.Instructions, filter packetfilter.Node, types *btf.Spec) (asm.Instructions, error) {
	from, to := -1, len(program)
	for i := range program {
		if btf.FuncMetadata(&program[i]) == nil {
			continue
		}
		if from >= 0 {
			to = i
			break
		}
		if program[i].Symbol() == packetFunction {
			from = i
		}
	}
	if from < 0 {
		return program, nil
	}
	code, err := packetCode(filter, types)
	if err != nil {
		return nil, err
	}
	code[0] = code[0].WithMetadata(program[from].Metadata)
	return append(append(append(asm.Instructions{}, program[:from]...), code...), program[to:]...), nil
}

// packetCoder writes the code of a filter: a function whose argument is a struct packet.
//
// r6 is the packet, r7 the last number, and the stack has the numbers that are needed after the next ones.
type packetCoder struct {
	code    asm.Instructions
	members map[string]packetMember
	labels  int
	err     error
}

type packetMember struct {
	offset int16
	size   uint32
}

const (
	passes, fails = "packet_passes", "packet_fails"
	loadedAt      = -8 // on the stack: bytes of a header
)

func packetCode(filter packetfilter.Node, types *btf.Spec) (asm.Instructions, error) {
	c := &packetCoder{members: make(map[string]packetMember)}
	if err := c.readMembers(types); err != nil {
		return nil, err
	}
	c.add(asm.Mov.Reg(asm.R6, asm.R1), asm.JEq.Imm(asm.R6, 0, fails)) // the first one gets the metadata of the function, instead of a reference
	c.condition(filter, passes, fails, passes)
	c.label(passes)
	c.add(asm.Mov.Imm(asm.R0, 1), asm.Return())
	c.label(fails)
	c.add(asm.Mov.Imm(asm.R0, 0), asm.Return())
	return c.code, c.err
}

func (c *packetCoder) readMembers(types *btf.Spec) error {
	var packet *btf.Struct
	if err := types.TypeByName("packet", &packet); err != nil {
		return fmt.Errorf("find struct packet: %w", err)
	}
	for _, m := range packet.Members {
		size, err := btf.Sizeof(m.Type)
		if err != nil {
			return err
		}
		c.members[m.Name] = packetMember{int16(m.Offset.Bytes()), uint32(size)}
	}
	return nil
}

func (c *packetCoder) add(code ...asm.Instruction) { c.code = append(c.code, code...) }

func (c *packetCoder) newLabel() string {
	c.labels++
	return "packet_" + strconv.Itoa(c.labels)
}

// label names the next instruction, which is one that does nothing: two labels may be at one place.
func (c *packetCoder) label(name string) {
	c.add(asm.Mov.Imm(asm.R0, 0).WithSymbol(name))
}

// condition jumps to yes or to no; next is which of both labels follows.
func (c *packetCoder) condition(n packetfilter.Node, yes, no, next string) {
	switch n := n.(type) {
	case *packetfilter.And:
		between := c.newLabel()
		c.condition(n.A, between, no, between)
		c.label(between)
		c.condition(n.B, yes, no, next)
	case *packetfilter.Or:
		between := c.newLabel()
		c.condition(n.A, yes, between, between)
		c.label(between)
		c.condition(n.B, yes, no, next)
	case *packetfilter.Not:
		c.condition(n.Node, no, yes, next)
	case *packetfilter.Compare:
		c.compare(n, yes, no, next)
	default:
		c.err = errors.New("the filter has a condition of an unknown kind")
	}
}

func (c *packetCoder) compare(n *packetfilter.Compare, yes, no, next string) {
	op, opposite := asm.JEq, asm.JNE
	switch n.Op {
	case "!=":
		op, opposite = asm.JNE, asm.JEq
	case "<":
		op, opposite = asm.JLT, asm.JGE
	case "<=":
		op, opposite = asm.JLE, asm.JGT
	case ">":
		op, opposite = asm.JGT, asm.JLE
	case ">=":
		op, opposite = asm.JGE, asm.JLT
	}
	to := yes
	if next == yes {
		op, to = opposite, no
	}
	if value, ok := n.B.(packetfilter.Const); ok {
		c.number(n.A, 0)
		c.add(op.Imm32(asm.R7, int32(value), to))
		return
	}
	c.pair(n.A, n.B, 0)
	c.add(op.Reg32(asm.R7, asm.R8, to))
}

// pair puts two numbers into r7 and r8; kept is how many there are on the stack.
func (c *packetCoder) pair(a, b packetfilter.Number, kept int) {
	slot := int16(loadedAt - 8*(kept+1))
	c.number(a, kept)
	c.add(asm.StoreMem(asm.RFP, slot, asm.R7, asm.DWord))
	c.number(b, kept+1)
	c.add(asm.Mov.Reg(asm.R8, asm.R7), asm.LoadMem(asm.R7, asm.RFP, slot, asm.DWord))
}

// number puts a number into r7.
func (c *packetCoder) number(n packetfilter.Number, kept int) {
	switch n := n.(type) {
	case packetfilter.Const:
		c.add(asm.Mov.Imm32(asm.R7, int32(n)))
	case packetfilter.Field:
		c.field(n)
	case *packetfilter.Load:
		c.load(n, kept)
	case *packetfilter.Binary:
		c.binary(n, kept)
	default:
		c.err = errors.New("the filter has a number of an unknown kind")
	}
}

func (c *packetCoder) field(f packetfilter.Field) {
	name := map[packetfilter.Field]string{
		packetfilter.Protocol: "protocol", packetfilter.Transport: "transport_protocol", packetfilter.VLAN: "vlan",
		packetfilter.SourcePort: "source_port", packetfilter.DestinationPort: "destination_port", packetfilter.Length: "length", packetfilter.Has: "has",
	}[f]
	switch {
	case f >= packetfilter.Destination:
		c.addressWord("destination", int(f-packetfilter.Destination))
		return
	case f >= packetfilter.Source:
		c.addressWord("source", int(f-packetfilter.Source))
		return
	}
	m := c.member(name)
	c.add(asm.LoadMem(asm.R7, asm.R6, m.offset, sizes[m.size]))
}

var sizes = [...]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

func (c *packetCoder) member(name string) packetMember {
	m, ok := c.members[name]
	if !ok {
		c.err = fmt.Errorf("struct packet has no member %s", name)
	}
	return m
}

func (c *packetCoder) addressWord(name string, word int) {
	c.add(asm.LoadMem(asm.R7, asm.R6, c.member(name).offset+int16(4*word), asm.Word), asm.HostTo(asm.BE, asm.R7, asm.Word))
}

// load reads bytes of a header if they are within the packet; otherwise the packet fails.
func (c *packetCoder) load(l *packetfilter.Load, kept int) {
	header := map[packetfilter.Header]string{
		packetfilter.FrameHeader: "frame", packetfilter.NetworkHeader: "network", packetfilter.TransportHeader: "transport",
	}[l.From]
	c.number(l.At, kept)
	c.add(
		asm.LoadMem(asm.R3, asm.R6, c.member(header).offset, asm.DWord),
		asm.JEq.Imm(asm.R3, 0, fails),
		asm.Add.Reg(asm.R3, asm.R7),
		asm.Mov.Reg(asm.R1, asm.R3), asm.Add.Imm(asm.R1, int32(l.Size)),
		asm.LoadMem(asm.R2, asm.R6, c.member("end").offset, asm.DWord),
		asm.JGT.Reg(asm.R1, asm.R2, fails),
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, loadedAt, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, loadedAt), asm.Mov.Imm(asm.R2, int32(l.Size)),
		asm.FnProbeReadKernel.Call(),
		asm.JNE.Imm(asm.R0, 0, fails),
		asm.LoadMem(asm.R7, asm.RFP, loadedAt, sizes[l.Size]),
	)
	if l.Size > 1 {
		c.add(asm.HostTo(asm.BE, asm.R7, sizes[l.Size]))
	}
}

func (c *packetCoder) binary(n *packetfilter.Binary, kept int) {
	op, ok := map[packetfilter.Op]asm.ALUOp{
		"+": asm.Add, "-": asm.Sub, "*": asm.Mul, "/": asm.Div, "%": asm.Mod, "&": asm.And, "|": asm.Or, "^": asm.Xor, "<<": asm.LSh, ">>": asm.RSh,
	}[n.Op]
	if !ok {
		c.err = fmt.Errorf("the filter has an unknown operation %s", n.Op)
		return
	}
	if value, ok := n.B.(packetfilter.Const); ok {
		c.number(n.A, kept)
		c.add(op.Imm32(asm.R7, int32(value)))
		return
	}
	c.pair(n.A, n.B, kept)
	switch n.Op {
	case "/", "%":
		c.add(asm.JEq.Imm32(asm.R8, 0, fails))
	case "<<", ">>":
		c.add(asm.And.Imm32(asm.R8, 31))
	}
	c.add(op.Reg32(asm.R7, asm.R8))
}
