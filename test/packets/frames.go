package packets

import (
	"encoding/binary"
	"net/netip"
)

// Frame is a frame of Ethernet, and what is in it.
type Frame struct {
	Name                string
	Bytes               []byte
	Protocol            string // as in the events
	Source, Destination string // addresses with ports
	Transport           string
	Flags               string
	Seq, Ack            uint32
	VLAN                uint16
}

const (
	a4, b4, c4 = "10.0.0.1", "10.0.0.2", "10.1.2.3"
	a6, b6     = "2001:db8::1", "fe80::2"
)

// Flags of TCP.
const (
	fin, syn, push, ack = 1, 2, 8, 16
)

// Frames returns frames each of another length.
func Frames() []Frame {
	list := []Frame{
		{Name: "TCP SYN", Bytes: ip4(a4, b4, 6, nil, 0, tcp(1234, 443, 7, 0, syn)), Protocol: "IPv4", Source: a4 + ":1234", Destination: b4 + ":443", Transport: "TCP", Flags: "SYN", Seq: 7},
		{Name: "IPv4 options", Bytes: ip4(b4, a4, 6, []byte{1, 1, 1, 1}, 0, append(tcp(443, 1234, 0xfffffff0, 8, push|ack), "GET /"...)), Protocol: "IPv4", Source: b4 + ":443", Destination: a4 + ":1234", Transport: "TCP", Flags: "PSH|ACK", Seq: 0xfffffff0, Ack: 8},
		{Name: "UDP", Bytes: ip4(c4, a4, 17, nil, 0, udp(53, 5353)), Protocol: "IPv4", Source: c4 + ":53", Destination: a4 + ":5353", Transport: "UDP"},
		{Name: "first fragment", Bytes: ip4(a4, c4, 17, nil, 0x2000, udp(1000, 2000)), Protocol: "IPv4", Source: a4 + ":1000", Destination: c4 + ":2000", Transport: "UDP"},
		{Name: "later fragment", Bytes: ip4(a4, c4, 17, nil, 100, udp(1000, 2000)), Protocol: "IPv4", Source: a4, Destination: c4, Transport: "UDP"},
		{Name: "ICMP", Bytes: ip4(a4, b4, 1, nil, 0, []byte{8, 0, 0, 0, 0, 1, 0, 2}), Protocol: "IPv4", Source: a4, Destination: b4, Transport: "ICMP"},
		{Name: "ARP", Bytes: frame(0x0806, arp(a4, b4)), Protocol: "ARP", Source: a4, Destination: b4, Transport: "none"},
		{Name: "TCP of IPv6", Bytes: ip6(a6, b6, 6, tcp(1234, 443, 9, 10, syn|ack)), Protocol: "IPv6", Source: "[" + a6 + "]:1234", Destination: "[" + b6 + "]:443", Transport: "TCP", Flags: "SYN|ACK", Seq: 9, Ack: 10},
		{Name: "IPv6 extensions", Bytes: ip6(b6, a6, 0, append(append(extension(60, 8), extension(17, 16)...), udp(53, 80)...)), Protocol: "IPv6", Source: "[" + b6 + "]:53", Destination: "[" + a6 + "]:80", Transport: "UDP"},
		{Name: "first fragment of IPv6", Bytes: ip6(a6, b6, 44, append([]byte{17, 0, 0, 1, 0, 0, 0, 9}, udp(7, 8)...)), Protocol: "IPv6", Source: "[" + a6 + "]:7", Destination: "[" + b6 + "]:8", Transport: "UDP"},
		{Name: "later fragment of IPv6", Bytes: ip6(a6, b6, 44, append([]byte{17, 0, 1, 0, 0, 0, 0, 9}, udp(7, 8)...)), Protocol: "IPv6", Source: a6, Destination: b6, Transport: "UDP"},
		{Name: "ICMPv6", Bytes: ip6(a6, b6, 58, []byte{128, 0, 0, 0, 0, 1, 0, 2}), Protocol: "IPv6", Source: a6, Destination: b6, Transport: "ICMPv6"},
		{Name: "VLAN", Bytes: tagged(0x8100, 5, ip4(a4, b4, 6, nil, 0, tcp(99, 443, 1, 2, fin|ack))), Protocol: "IPv4", Source: a4 + ":99", Destination: b4 + ":443", Transport: "TCP", Flags: "FIN|ACK", Seq: 1, Ack: 2, VLAN: 5},
		{Name: "two VLANs", Bytes: tagged(0x88a8, 7, tagged(0x8100, 5, ip4(a4, b4, 17, nil, 0, udp(1, 2)))), Protocol: "IPv4", Source: a4 + ":1", Destination: b4 + ":2", Transport: "UDP", VLAN: 7},
		{Name: "SCTP", Bytes: ip4(a4, b4, 132, nil, 0, udp(443, 444)), Protocol: "IPv4", Source: a4 + ":443", Destination: b4 + ":444", Transport: "SCTP"},
		{Name: "IPv4 cut short", Bytes: frame(0x0800, []byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6}), Protocol: "IPv4", Transport: "none"},
		{Name: "TCP cut short", Bytes: ip4(a4, b4, 6, nil, 0, tcp(1, 443, 5, 6, ack)[:8]), Protocol: "IPv4", Source: a4 + ":1", Destination: b4 + ":443", Transport: "TCP"},
		{Name: "LLDP", Bytes: frame(0x88cc, make([]byte, 10)), Protocol: "LLDP", Transport: "none"},
		{Name: "GRE", Bytes: ip4(b4, c4, 47, nil, 0, make([]byte, 8)), Protocol: "IPv4", Source: b4, Destination: c4, Transport: "GRE"},
		{Name: "broadcast", Bytes: to("\xff\xff\xff\xff\xff\xff", ip4(a4, "255.255.255.255", 17, nil, 0, udp(68, 67))), Protocol: "IPv4", Source: a4 + ":68", Destination: "255.255.255.255:67", Transport: "UDP"},
		{Name: "multicast", Bytes: to("\x01\x00\x5e\x00\x00\x05", ip4(a4, "224.0.0.5", 2, nil, 0, make([]byte, 8))), Protocol: "IPv4", Source: a4, Destination: "224.0.0.5", Transport: "IGMP"},
	}
	for i := range list {
		if short := list[i].Name == "IPv4 cut short" || list[i].Name == "TCP cut short"; !short {
			list[i].Bytes = append(list[i].Bytes, make([]byte, 200+i-len(list[i].Bytes))...)
		}
	}
	return list
}

// Syn is a frame that begins a connection of IPv4, with the checksums that a listener wants.
func Syn(source string, sourcePort uint16, destination string, destinationPort uint16) []byte {
	segment := tcp(sourcePort, destinationPort, 7, 0, syn)
	b := ip4(source, destination, 6, nil, 0, segment)
	const ip, transport = 14, 34
	binary.BigEndian.PutUint16(b[ip+10:], checksum(b[ip:transport]))
	pseudo := append(append([]byte{}, b[ip+12:transport]...), 0, 6, 0, byte(len(segment)))
	binary.BigEndian.PutUint16(b[transport+16:], checksum(append(pseudo, segment...)))
	return b
}

// checksum is that of RFC 1071, of an even number of bytes.
func checksum(of []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(of); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(of[i:]))
	}
	sum = sum>>16 + sum&0xffff
	return ^uint16(sum + sum>>16)
}

// Macs of the frames.
const (
	Source      = "\x02\x00\x00\x00\x00\x01"
	Destination = "\x02\x00\x00\x00\x00\x02"
)

func frame(etherType uint16, payload []byte) []byte {
	b := append([]byte(Destination), Source...)
	return append(binary.BigEndian.AppendUint16(b, etherType), payload...)
}

func to(mac string, frame []byte) []byte {
	copy(frame, mac)
	return frame
}

// tagged puts a tag into a frame.
func tagged(etherType, id uint16, frame []byte) []byte {
	b := append([]byte{}, frame[:12]...)
	b = binary.BigEndian.AppendUint16(b, etherType)
	b = binary.BigEndian.AppendUint16(b, id|0x2000) // with a priority
	return append(b, frame[12:]...)
}

func ip4(source, destination string, protocol byte, options []byte, fragment uint16, payload []byte) []byte {
	b := make([]byte, 20, 60)
	b[0] = 0x45 + byte(len(options)/4)
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(options)+len(payload)))
	binary.BigEndian.PutUint16(b[6:], fragment)
	b[8], b[9] = 64, protocol
	copy(b[12:], netip.MustParseAddr(source).AsSlice())
	copy(b[16:], netip.MustParseAddr(destination).AsSlice())
	return frame(0x0800, append(append(b, options...), payload...))
}

func ip6(source, destination string, next byte, payload []byte) []byte {
	b := make([]byte, 40)
	b[0] = 0x60
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	b[6], b[7] = next, 64
	copy(b[8:], netip.MustParseAddr(source).AsSlice())
	copy(b[24:], netip.MustParseAddr(destination).AsSlice())
	return frame(0x86dd, append(b, payload...))
}

func extension(next byte, size int) []byte {
	b := make([]byte, size)
	b[0], b[1] = next, byte(size/8-1)
	return b
}

func tcp(source, destination uint16, seq, acked uint32, flags byte) []byte {
	b := append(udp(source, destination)[:4], make([]byte, 16)...)
	binary.BigEndian.PutUint32(b[4:], seq)
	binary.BigEndian.PutUint32(b[8:], acked)
	b[12], b[13] = 5<<4, flags
	return b
}

func udp(source, destination uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, source)
	return append(binary.BigEndian.AppendUint16(b, destination), 0, 8, 0, 0)
}

func arp(sender, target string) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, 1}
	b = append(append(b, Source...), netip.MustParseAddr(sender).AsSlice()...)
	return append(append(b, make([]byte, 6)...), netip.MustParseAddr(target).AsSlice()...)
}
