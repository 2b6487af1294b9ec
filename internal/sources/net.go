package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// networkTypes are packets on a track of each queue of a device, and what happens to connections.
func networkTypes() []Type {
	device, bytes := Field("device", format.ValueType_VALUE_TEXT), unit(Field("bytes", format.ValueType_VALUE_UINT), "bytes")
	protocol := enum("protocol", protocols()...)
	packet := func(name string) *format.EventType {
		return instant(name, "net", "Network", format.TypeTrack_TRACK_GLOBAL, track(Field("queue", format.ValueType_VALUE_TEXT)), bytes, protocol,
			counter(unit(Field("total", format.ValueType_VALUE_UINT), "bytes")), counter(Field("packets", format.ValueType_VALUE_UINT)))
	}
	ends := []*format.TypeField{Field("local", format.ValueType_VALUE_STRING), Field("remote", format.ValueType_VALUE_STRING)}
	connection := func(named string, fields ...*format.TypeField) *format.EventType {
		return instant(named, "net", "Connections", format.TypeTrack_TRACK_THREAD, append(ends[:2:2], fields...)...)
	}
	return []Type{
		{
			Number: ringdata.TypeSend, Feature: "net", Doc: "packets sent, received and dropped; TCP's states and retransmissions",
			Programs: []Program{{Name: "net_dev_start_xmit", Writes: true}},
			Def:      packet("packet_sent"),
		},
		{
			Number: ringdata.TypeReceive, Feature: "net",
			Programs: []Program{{Name: "netif_receive_skb", Writes: true}},
			Def:      packet("packet_received"),
		},
		{
			Number: ringdata.TypeDrop, Feature: "net",
			Programs: []Program{{Name: "kfree_skb", Writes: true}},
			Def: instant("packet_dropped", "net", "Network", format.TypeTrack_TRACK_GLOBAL,
				name(Field("reason", format.ValueType_VALUE_TEXT)), Field("function", format.ValueType_VALUE_TEXT), device, bytes, protocol),
		},
		{
			Number: ringdata.TypeRetransmit, Feature: "net",
			Programs: []Program{{Name: "tcp_retransmit_skb", Writes: true}},
			Def:      connection("tcp_retransmit", enum("state", tcpStates()...), bytes),
		},
		{
			Number: ringdata.TypeTcpState, Feature: "net",
			Programs: []Program{{Name: "inet_sock_set_state", Writes: true}},
			Def:      connection("tcp_state", enum("from", tcpStates()...), name(enum("to", tcpStates()...))),
		},
		{
			Number: ringdata.TypeSocketError, Feature: "net",
			Programs: []Program{{Name: "inet_sk_error_report", Writes: true, Optional: true}},
			Def:      connection("socket_error", Field("errno", format.ValueType_VALUE_INT)),
		},
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
