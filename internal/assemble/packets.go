package assemble

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// isPacket reports whether the records of a type are struct rec_packet.
func isPacket(number uint32) bool {
	return number == ringdata.TypeSend || number == ringdata.TypeReceive || number == ringdata.TypeDrop
}

// packetTable keeps the texts of the flags of TCP, and the text of both ends of a packet.
type packetTable struct {
	flags [256]*textDef
	ends  []byte
}

// addressSize returns the size of an address in a record.
func addressSize(family byte) int {
	switch family {
	case 0:
		return 0
	case familyIPv4:
		return 4
	}
	return 16
}

// packetValues appends the values of a packet, in the order of the fields of its type; ok false: the record is damaged.
func (a *applier) packetValues(values []format.Value, t *sources.Type, b []byte) (all []format.Value, ok bool) {
	if len(b) < ringdata.PacketSize {
		return nil, false
	}
	size := addressSize(b[ringdata.PacketFamily])
	addresses := b[ringdata.PacketAddresses:]
	if len(addresses) < 2*size {
		return nil, false
	}
	le := binary.LittleEndian
	add := func(number uint64, bytes []byte) {
		f := t.Def.Fields[len(values)]
		values = append(values, format.Value{Field: f, Number: a.typedNumber(f, number), Bytes: bytes})
	}
	for i := range ringdata.PacketOfSize / 8 {
		add(le.Uint64(b[ringdata.PacketOf+8*i:]), nil)
	}
	protocol := le.Uint16(b[ringdata.PacketProtocol:])
	add(uint64(le.Uint32(b[ringdata.PacketBytes:])), nil)
	add(uint64(protocol), nil)
	p := &a.out.packets
	source, destination := p.readEnds(addresses[:2*size], le.Uint16(b[ringdata.PacketSourcePort:]), le.Uint16(b[ringdata.PacketDestinationPort:]))
	add(0, source)
	add(0, destination)
	add(transportOf(protocol, b), nil)
	values = append(values, format.Value{Field: t.Def.Fields[len(values)], Number: p.flagsText(a.out, b[ringdata.PacketFlags])})
	add(uint64(le.Uint32(b[ringdata.PacketSeq:])), nil)
	add(uint64(le.Uint32(b[ringdata.PacketAck:])), nil)
	add(uint64(le.Uint16(b[ringdata.PacketVlan:])), nil)
	return values, true
}

// transportOf returns the protocol above that of the network.
func transportOf(protocol uint16, b []byte) uint64 {
	if b[ringdata.PacketFamily] == 0 || protocol != sources.EtherTypeIPv4 && protocol != sources.EtherTypeIPv6 {
		none := int64(sources.NoTransport)
		return uint64(none)
	}
	return uint64(b[ringdata.PacketTransport])
}

// readEnds returns the text of both ends, valid until the next call. Addresses without a port have none behind them.
func (p *packetTable) readEnds(addresses []byte, ports ...uint16) (source, destination []byte) {
	p.ends = p.ends[:0]
	half := 0
	for i, port := range ports {
		if i == 1 {
			half = len(p.ends)
		}
		ip, ok := netip.AddrFromSlice(addresses[i*len(addresses)/2:][:len(addresses)/2])
		switch {
		case !ok:
		case port == 0:
			p.ends = ip.AppendTo(p.ends)
		default:
			p.ends = netip.AddrPortFrom(ip, port).AppendTo(p.ends)
		}
	}
	return p.ends[:half], p.ends[half:]
}

// flagsText returns the id of the text of TCP's flags; 0: there are none.
func (p *packetTable) flagsText(s *stream, flags byte) uint64 {
	if flags == 0 {
		return 0
	}
	if p.flags[flags] == nil {
		p.flags[flags] = &textDef{text: flagNames(flags)}
	}
	return uint64(s.types.defineText(s, p.flags[flags]))
}

// flagNames are those of RFC 9293, in the order of tcpdump(1).
func flagNames(flags byte) string {
	var names []string
	for i, name := range [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"} {
		if flags>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}
