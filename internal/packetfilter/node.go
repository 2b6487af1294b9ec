package packetfilter

// Node is a condition: *And, *Or, *Not or *Compare.
type Node interface{ condition() }

// And is met if both are.
type And struct{ A, B Node }

// Or is met if one of both is.
type Or struct{ A, B Node }

// Not is met if the other is not.
type Not struct{ Node Node }

// Compare compares two numbers of 32 bits without a sign.
type Compare struct {
	Op   Op
	A, B Number
}

func (*And) condition()     {}
func (*Or) condition()      {}
func (*Not) condition()     {}
func (*Compare) condition() {}

// Op is an operation of two numbers.
type Op string

// Number is a number of a packet: Const, Field, *Load or *Binary.
type Number interface{ number() }

// Const is a constant.
type Const uint32

// Field is a number that the kernel programs have found. Addresses are four of them: in the order of the network, the first one for IPv4.
type Field int

// Fields.
const (
	Protocol Field = iota // EtherType
	Transport
	VLAN // id, and Tagged
	SourcePort
	DestinationPort
	Length
	Has // parts
	Source
	Source1
	Source2
	Source3
	Destination
	Destination1
	Destination2
	Destination3
	Fields
)

// Bits of Has, as enum packet_part in bpf/packet.h.
const (
	HasFrame = 1 << iota
	HasTransport
	HasPorts
	IsSent
	IsReceived
)

// Tagged is the bit of VLAN of packets with a tag.
const Tagged = 0x1000

// Load is one, two or four bytes of a header, in the order of the network. If they are beyond the packet, it does not pass the filter,
// whatever the rest of the condition is.
type Load struct {
	From Header
	At   Number
	Size int
}

// Header is where offsets count from.
type Header int

// Headers.
const (
	FrameHeader Header = iota
	NetworkHeader
	TransportHeader
)

// Binary combines two numbers. A division by 0 is as a load beyond the packet.
type Binary struct {
	Op   Op
	A, B Number
}

func (Const) number()   {}
func (Field) number()   {}
func (*Load) number()   {}
func (*Binary) number() {}

func all(nodes ...Node) Node {
	n := nodes[0]
	for _, next := range nodes[1:] {
		n = &And{n, next}
	}
	return n
}

func either(nodes ...Node) Node {
	n := nodes[0]
	for _, next := range nodes[1:] {
		n = &Or{n, next}
	}
	return n
}

func is(f Field, value uint32) Node { return &Compare{"=", f, Const(value)} }

func has(bit uint32) Node { return masked(Has, bit, bit) }

func masked(f Field, mask, value uint32) Node {
	return &Compare{"=", &Binary{"&", f, Const(mask)}, Const(value)}
}
