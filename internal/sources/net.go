package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// Packets is the group of packets and connections, and the word of -f.
const Packets = "net"

// networkTypes are packets on a track of each queue of a device, and what happens to connections.
func networkTypes() []Type {
	bytes := unit(Field("bytes", format.ValueType_VALUE_UINT), "bytes")
	packet := func(name string, first ...*format.TypeField) *format.EventType {
		return instant(name, Packets, "Network", format.TypeTrack_TRACK_GLOBAL, append(first, packetFields()...)...)
	}
	ofQueue := func() []*format.TypeField {
		return []*format.TypeField{
			track(Field("queue", format.ValueType_VALUE_TEXT)),
			counter(unit(Field("total", format.ValueType_VALUE_UINT), "bytes")), counter(Field("packets", format.ValueType_VALUE_UINT)),
		}
	}
	ends := []*format.TypeField{Field("local", format.ValueType_VALUE_STRING), Field("remote", format.ValueType_VALUE_STRING)}
	connection := func(named string, fields ...*format.TypeField) *format.EventType {
		return instant(named, Packets, "Connections", format.TypeTrack_TRACK_THREAD, append(ends[:2:2], fields...)...)
	}
	return []Type{
		{
			Number: ringdata.TypeSend, Feature: Packets, Doc: "packets sent, received and dropped; TCP's states and retransmissions; net='tcp port 443': only these packets",
			Programs: []Program{{Name: "net_dev_start_xmit", Writes: true}},
			Def:      packet("packet_sent", ofQueue()...),
		},
		{
			Number: ringdata.TypeReceive, Feature: Packets,
			Programs: []Program{{Name: "netif_receive_skb", Writes: true}},
			Def:      packet("packet_received", ofQueue()...),
		},
		{
			Number: ringdata.TypeDrop, Feature: Packets,
			Programs: []Program{{Name: "kfree_skb", Writes: true}},
			Def: packet("packet_dropped",
				name(Field("reason", format.ValueType_VALUE_TEXT)), Field("function", format.ValueType_VALUE_TEXT), Field("device", format.ValueType_VALUE_TEXT)),
		},
		{
			Number: ringdata.TypeRetransmit, Feature: Packets,
			Programs: []Program{{Name: "tcp_retransmit_skb", Writes: true}, {Name: "tcp_retransmit_synack", Writes: true, Optional: true}},
			Def:      connection("tcp_retransmit", enum("state", tcpStates()...), bytes),
		},
		{
			Number: ringdata.TypeTcpState, Feature: Packets,
			Programs: []Program{{Name: "inet_sock_set_state", Writes: true}},
			Def:      connection("tcp_state", enum("from", tcpStates()...), name(enum("to", tcpStates()...))),
		},
		{
			Number: ringdata.TypeSocketError, Feature: Packets,
			Programs: []Program{{Name: "inet_sk_error_report", Writes: true, Optional: true}},
			Def:      connection("socket_error", Field("errno", format.ValueType_VALUE_INT)),
		},
	}
}

// Types of frames, as in struct rec_packet.
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
)

// NoTransport is the protocol of packets of neither IPv4 nor IPv6.
const NoTransport = -1

// packetFields are the values of struct rec_packet behind the first three.
func packetFields() []*format.TypeField {
	return []*format.TypeField{
		unit(Field("bytes", format.ValueType_VALUE_UINT), "bytes"), enum("protocol", protocols()...),
		Field("source", format.ValueType_VALUE_STRING), Field("destination", format.ValueType_VALUE_STRING),
		enum("transport", transports()...), Field("flags", format.ValueType_VALUE_TEXT),
		Field("seq", format.ValueType_VALUE_UINT), Field("ack", format.ValueType_VALUE_UINT), Field("vlan", format.ValueType_VALUE_UINT),
	}
}

// transports are the common protocols of /etc/protocols.
func transports() []*format.EnumName {
	name := func(number int64, text string) *format.EnumName {
		return &format.EnumName{Number: number, Name: []byte(text)}
	}
	return []*format.EnumName{
		name(NoTransport, "none"), name(1, "ICMP"), name(2, "IGMP"), name(4, "IPv4"), name(6, "TCP"), name(17, "UDP"), name(33, "DCCP"),
		name(41, "IPv6"), name(47, "GRE"), name(50, "ESP"), name(51, "AH"), name(58, "ICMPv6"), name(89, "OSPF"), name(103, "PIM"), name(112, "VRRP"),
		name(132, "SCTP"), name(136, "UDP-Lite"),
	}
}

// tcpStates are those of include/net/tcp_states.h.
func tcpStates() []*format.EnumName {
	return numbered(1, "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN",
		"CLOSING", "NEW_SYN_RECV", "BOUND_INACTIVE")
}

// protocols are the common ones of include/uapi/linux/if_ether.h.
func protocols() []*format.EnumName {
	name := func(number int64, text string) *format.EnumName {
		return &format.EnumName{Number: number, Name: []byte(text)}
	}
	return []*format.EnumName{
		name(0x0800, "IPv4"), name(0x0806, "ARP"), name(0x8100, "VLAN"), name(0x86dd, "IPv6"), name(0x8847, "MPLS"), name(0x8863, "PPPoE discovery"),
		name(0x8864, "PPPoE"), name(0x88cc, "LLDP"), name(0, "none"),
	}
}
