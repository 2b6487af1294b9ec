package packetfilter

// EtherTypes of include/uapi/linux/if_ether.h.
const (
	typeIP   = 0x0800
	typeARP  = 0x0806
	typeRARP = 0x8035
	typeIP6  = 0x86dd
)

// protocol is what a name of a protocol stands for: its frames' type, or its number above IP.
type protocol struct {
	types     []uint32
	transport uint32 // 0: it is a type of frames
	header    Header
}

var (
	onlyIP  = []uint32{typeIP}
	onlyIP6 = []uint32{typeIP6}
	both    = []uint32{typeIP, typeIP6}
)

func protocolOf(name string) (p protocol, ok bool) {
	p, ok = map[string]protocol{
		"ip":   {onlyIP, 0, NetworkHeader},
		"ip6":  {onlyIP6, 0, NetworkHeader},
		"arp":  {[]uint32{typeARP}, 0, NetworkHeader},
		"rarp": {[]uint32{typeRARP}, 0, NetworkHeader},

		"tcp":   {both, 6, TransportHeader},
		"udp":   {both, 17, TransportHeader},
		"sctp":  {both, 132, TransportHeader},
		"icmp":  {onlyIP, 1, TransportHeader},
		"icmp6": {onlyIP6, 58, TransportHeader},
		"igmp":  {onlyIP, 2, TransportHeader},
		"igrp":  {onlyIP, 9, TransportHeader},
		"pim":   {both, 103, TransportHeader},
		"vrrp":  {onlyIP, 112, TransportHeader},
		"esp":   {both, 50, TransportHeader},
		"ah":    {both, 51, TransportHeader},
	}[name]
	return p, ok
}

// is is the condition that a packet is of the protocol.
func (p protocol) is() Node {
	var types []Node
	for _, t := range p.types {
		types = append(types, is(Protocol, t))
	}
	n := either(types...)
	if p.transport != 0 {
		n = all(is(Transport, p.transport), n)
	}
	return n
}

// constantOf returns a named offset or value of pcap-filter(7).
func constantOf(name string) (uint32, bool) {
	v, ok := map[string]uint32{
		"tcpflags": 13, "tcp-fin": 1, "tcp-syn": 2, "tcp-rst": 4, "tcp-push": 8, "tcp-ack": 16, "tcp-urg": 32, "tcp-ece": 64, "tcp-cwr": 128,
		"icmptype": 0, "icmpcode": 1, "icmp6type": 0, "icmp6code": 1,
		"icmp-echoreply": 0, "icmp-unreach": 3, "icmp-sourcequench": 4, "icmp-redirect": 5, "icmp-echo": 8, "icmp-routeradvert": 9,
		"icmp-routersolicit": 10, "icmp-timxceed": 11, "icmp-paramprob": 12, "icmp-tstamp": 13, "icmp-tstampreply": 14, "icmp-ireq": 15,
		"icmp-ireqreply": 16, "icmp-maskreq": 17, "icmp-maskreply": 18,
		"icmp6-destinationrunreach": 1, "icmp6-packettoobig": 2, "icmp6-timeexceeded": 3, "icmp6-parameterproblem": 4, "icmp6-echo": 128,
		"icmp6-echoreply": 129, "icmp6-routersolicit": 133, "icmp6-routeradvert": 134, "icmp6-neighborsolicit": 135, "icmp6-neighboradvert": 136,
		"icmp6-redirect": 137,
	}[name]
	return v, ok
}

// unknownHere are words of pcap-filter(7) that this package does not know.
func unknownHere(name string) bool {
	switch name {
	case "gateway", "protochain", "decnet", "iso", "clnp", "esis", "isis", "stp", "ipx", "netbeui", "lat", "moprc", "mopdl", "atalk", "aarp", "fddi", "tr", "wlan",
		"type", "subtype", "dir", "addr1", "addr2", "addr3", "addr4", "ra", "ta", "mpls", "pppoed", "pppoes", "geneve", "vxlan", "llc", "ifname", "on", "rnr", "rulenum", "reason",
		"rset", "ruleset", "srnr", "subrulenum", "action", "atm", "lane", "vpi", "vci", "radio", "link", "slip", "ppp", "carp", "l1", "l2", "ifindex":
		return true
	}
	return false
}
