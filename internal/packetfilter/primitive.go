package packetfilter

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// qualifiers are what stands before the name or number of a primitive.
type qualifiers struct {
	protocol  string // "": none
	direction string // src, dst, or with and, or between them
	kind      string // host, net, port, portrange, proto; "": a name alone repeats nothing
}

// primitive reads a condition without and, or, not.
func (p *parser) primitive() (Node, error) {
	first := p.peek().text
	if n, ok, err := p.single(first); ok || err != nil {
		return n, err
	}
	if unknownHere(first) {
		return nil, fmt.Errorf("%q of pcap-filter(7) is not supported", first)
	}
	var q qualifiers
	if _, ok := protocolOf(first); ok || first == "ether" {
		q.protocol = first
		p.at++
	}
	q.direction = p.direction()
	q.kind = p.take("host", "net", "portrange", "port", "proto")
	if q.kind == "" && q.protocol != "" && q.direction == "" {
		return p.alone(q.protocol)
	}
	if q.kind == "" && q.protocol == "" && q.direction == "" && p.last.kind != "" {
		q = p.last
	}
	if q.kind == "" {
		q.kind = "host"
	}
	if p.peek().text == "(" && p.at > 0 && p.words[p.at-1].name {
		return p.list(q)
	}
	if w := p.peek(); p.atEnd() || !w.name || w.text == "and" || w.text == "or" || w.text == "not" {
		return nil, p.unexpected("the name or number of a %s is expected", q.kind)
	}
	id := p.peek().text
	if unknownHere(id) && q.kind != "host" {
		return nil, fmt.Errorf("%q of pcap-filter(7) is not supported", id)
	}
	p.at++
	p.last = q
	return p.of(q, id)
}

// alone is a protocol without anything else.
func (p *parser) alone(name string) (Node, error) {
	if name == "ether" || name == "ip" || name == "ip6" {
		if cast := p.take("broadcast", "multicast"); cast != "" {
			return manyCast(name, cast)
		}
	}
	if w := p.peek(); !p.atEnd() && w.name && w.text != "and" && w.text != "or" {
		if unknownHere(w.text) {
			return nil, fmt.Errorf("%q of pcap-filter(7) is not supported", w.text)
		}
		return nil, p.unexpected("host, net, port, portrange or proto is expected")
	}
	if name == "ether" {
		return nil, p.unexpected("host, proto, broadcast or multicast is expected")
	}
	of, _ := protocolOf(name)
	return of.is(), nil
}

// single reads primitives of one word, and with a number behind it.
func (p *parser) single(first string) (n Node, ok bool, err error) {
	switch first {
	case "inbound":
		n = has(IsReceived)
	case "outbound":
		n = has(IsSent)
	case "broadcast", "multicast":
		n, err = manyCast("ether", first)
	case "less", "greater":
		p.at++
		op := map[string]Op{"less": "<=", "greater": ">="}[first]
		limit, err := p.numberWord()
		return &Compare{op, Length, Const(limit)}, true, err
	case "vlan":
		p.at++
		if _, ok, err := number(p.peek().text); !ok && err == nil {
			return masked(VLAN, Tagged, Tagged), true, nil
		}
		id, err := p.numberWord()
		if id >= Tagged {
			return nil, true, fmt.Errorf("%d is not the id of a VLAN: these are below %d", id, Tagged)
		}
		return is(VLAN, id|Tagged), true, err
	default:
		return nil, false, nil
	}
	p.at++
	return n, true, err
}

func (p *parser) numberWord() (uint32, error) {
	n, ok, err := number(p.peek().text)
	if !ok {
		return 0, cmp.Or(err, p.unexpected("a number is expected"))
	}
	p.at++
	return n, nil
}

// manyCast is the condition on the destination of packets to many.
func manyCast(protocol, cast string) (Node, error) {
	frame := func(at uint32, size int) Number { return &Load{FrameHeader, Const(at), size} }
	switch {
	case protocol == "ether" && cast == "broadcast":
		return all(has(HasFrame), &Compare{"=", frame(0, 4), Const(0xffffffff)}, &Compare{"=", frame(4, 2), Const(0xffff)}), nil
	case protocol == "ether":
		return all(has(HasFrame), &Compare{"=", &Binary{"&", frame(0, 1), Const(1)}, Const(1)}), nil
	case protocol == "ip" && cast == "multicast":
		return all(is(Protocol, typeIP), &Compare{">=", Destination, Const(0xe0000000)}), nil
	case protocol == "ip6" && cast == "multicast":
		return all(is(Protocol, typeIP6), masked(Destination, 0xff000000, 0xff000000)), nil
	}
	return nil, fmt.Errorf("\"%s broadcast\" needs the mask of a network: write the address, as in dst host 10.0.0.255", protocol)
}

// direction reads src, dst, "src or dst" and so on.
func (p *parser) direction() string {
	first := p.take("src", "dst")
	if first == "" {
		return ""
	}
	op, second := p.peek().text, p.peekAt(1).text
	if op != "or" && op != "and" && op != "||" && op != "&&" || second == first || second != "src" && second != "dst" {
		return first
	}
	// "src or dst host A" but not "src A or dst B", whose name is before the or.
	p.at += 2
	if op == "and" || op == "&&" {
		return "both"
	}
	return "any"
}

// of is the condition of a primitive.
func (p *parser) of(q qualifiers, id string) (Node, error) {
	switch q.kind {
	case "port", "portrange":
		return p.ports(q, id)
	case "proto":
		return protoOf(q, id)
	case "net":
		return p.network(q, id)
	}
	if q.protocol == "ether" {
		return etherHost(q, id)
	}
	return p.host(q, id)
}

// toward is a condition on the source, the destination or both.
func toward(direction string, of func(source bool) Node) Node {
	switch direction {
	case "src":
		return of(true)
	case "dst":
		return of(false)
	case "both":
		return &And{of(true), of(false)}
	}
	return &Or{of(true), of(false)}
}

func (p *parser) ports(q qualifiers, id string) (Node, error) {
	transports := map[string][]uint32{"": {6, 17, 132}, "tcp": {6}, "udp": {17}, "sctp": {132}}[q.protocol]
	if transports == nil {
		return nil, fmt.Errorf("%q has no ports: write tcp %s, udp %s or sctp %s", q.protocol, q.kind, q.kind, q.kind)
	}
	low, high, err := p.portRange(q.kind, id)
	if err != nil {
		return nil, err
	}
	var of []Node
	for _, t := range transports {
		of = append(of, is(Transport, t))
	}
	port := toward(q.direction, func(source bool) Node {
		f := DestinationPort
		if source {
			f = SourcePort
		}
		if low == high {
			return is(f, low)
		}
		return &And{&Compare{">=", f, Const(low)}, &Compare{"<=", f, Const(high)}}
	})
	return all(either(of...), has(HasPorts), port), nil
}

// portRange reads a port, or a range like 80-90 or http-90.
func (p *parser) portRange(kind, id string) (low, high uint32, err error) {
	if kind == "port" {
		low, err = p.port(id)
		return low, low, err
	}
	for i := range id { // names of services have hyphens too
		if id[i] != '-' {
			continue
		}
		a, errA := p.port(id[:i])
		b, errB := p.port(id[i+1:])
		if errA == nil && errB == nil {
			return min(a, b), max(a, b), nil
		}
	}
	if low, err = p.port(id); err != nil {
		err = fmt.Errorf("%q is not a range of ports like 8000-8080", id)
	}
	return low, low, err
}

func (p *parser) port(id string) (uint32, error) {
	if n, err := strconv.ParseUint(id, 0, 16); err == nil {
		return uint32(n), nil
	}
	if strings.Trim(id, "0123456789") == "" {
		return 0, fmt.Errorf("%q is not a port: these are 0 to 65535", id)
	}
	n, err := p.names.Port(id)
	if err != nil {
		return 0, fmt.Errorf("%q is neither the number of a port nor a service in /etc/services", id)
	}
	return uint32(n), nil
}

// protoOf is a condition on the protocol above Ethernet or IP.
func protoOf(q qualifiers, id string) (Node, error) {
	of, named := protocolOf(id)
	n, err := strconv.ParseUint(id, 0, 16)
	if !named && err != nil {
		return nil, fmt.Errorf("%q is neither a protocol that is known here nor a number", id)
	}
	if q.direction != "" {
		return nil, fmt.Errorf("a protocol has no direction: leave out what is before proto %s", id)
	}
	number := of.transport
	if !named {
		number = uint32(n)
	}
	switch q.protocol {
	case "ether":
		if named && of.transport != 0 {
			return nil, fmt.Errorf("%q is a protocol above IP: write ip proto %s", id, id)
		}
		if named {
			return of.is(), nil
		}
		return is(Protocol, number), nil
	case "ip", "ip6", "":
		if named && of.transport == 0 {
			return nil, fmt.Errorf("%q is a protocol above Ethernet: write ether proto %s", id, id)
		}
		types := map[string][]uint32{"": both, "ip": onlyIP, "ip6": onlyIP6}[q.protocol]
		return all(is(Transport, number), protocol{types: types}.is()), nil
	}
	return nil, fmt.Errorf("%q has no protocols above it that can be named: write ip proto %s", q.protocol, id)
}

func etherHost(q qualifiers, id string) (Node, error) {
	mac, err := net.ParseMAC(id)
	if err != nil || len(mac) != 6 {
		return nil, fmt.Errorf("%q is not an address of Ethernet like 02:00:00:00:00:01", id)
	}
	return all(has(HasFrame), toward(q.direction, func(source bool) Node {
		at := Const(0)
		if source {
			at = 6
		}
		high := uint32(mac[0])<<8 | uint32(mac[1])
		low := uint32(mac[2])<<24 | uint32(mac[3])<<16 | uint32(mac[4])<<8 | uint32(mac[5])
		return &And{&Compare{"=", &Load{FrameHeader, at + 2, 4}, Const(low)}, &Compare{"=", &Load{FrameHeader, at, 2}, Const(high)}}
	})), nil
}

func (p *parser) host(q qualifiers, id string) (Node, error) {
	addresses := []netip.Addr{}
	if a, err := netip.ParseAddr(id); err == nil {
		addresses = append(addresses, a.Unmap())
	} else if addresses, err = p.names.Host(id); err != nil || len(addresses) == 0 {
		return nil, fmt.Errorf("%q is neither an address nor the name of a host that can be found", id)
	}
	const mostAddresses = 16
	var any []Node
	for _, a := range addresses[:min(len(addresses), mostAddresses)] {
		n, err := prefixOf(q, netip.PrefixFrom(a, a.BitLen()))
		if err == nil {
			any = append(any, n)
		} else if len(addresses) == 1 {
			return nil, err
		}
	}
	if len(any) == 0 {
		return nil, fmt.Errorf("%q has no address of %s", id, q.protocol)
	}
	return either(any...), nil
}

// network reads 10.0.0.0/8, 10.0.0.0 mask 255.0.0.0, 10.1 and addresses of IPv6.
func (p *parser) network(q qualifiers, id string) (Node, error) {
	a, bits, err := networkAddress(id)
	if err != nil {
		return nil, err
	}
	switch {
	case p.take("/") != "":
		n, err := p.numberWord()
		if err != nil || int(n) > a.BitLen() {
			return nil, fmt.Errorf("the network %s has 0 to %d bits", id, a.BitLen())
		}
		bits = int(n)
	case p.take("mask") != "":
		mask, err := netip.ParseAddr(p.peek().text)
		if err != nil || !mask.Is4() || !a.Is4() {
			return nil, fmt.Errorf("the mask of the network %s is not one like 255.255.0.0", id)
		}
		p.at++
		ones, size := net.IPMask(mask.AsSlice()).Size()
		if size == 0 {
			return nil, fmt.Errorf("the mask %s has ones behind zeros", mask)
		}
		bits = ones
	}
	prefix := netip.PrefixFrom(a, bits)
	if prefix.Masked() != prefix {
		return nil, fmt.Errorf("the address %s has bits outside its network of %d bits: write it as %s", a, bits, prefix.Masked())
	}
	return prefixOf(q, prefix)
}

// networkAddress reads an address, of IPv4 also its first numbers alone.
func networkAddress(id string) (a netip.Addr, bits int, err error) {
	if a, err = netip.ParseAddr(id); err == nil {
		return a, a.BitLen(), nil
	}
	parts := strings.Split(id, ".")
	if len(parts) > 4 {
		return a, 0, fmt.Errorf("%q is not the address of a network", id)
	}
	var bytes [4]byte
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return a, 0, fmt.Errorf("%q is not the address of a network", id)
		}
		bytes[i] = byte(n)
	}
	return netip.AddrFrom4(bytes), 8 * len(parts), nil
}

// prefixOf is a condition on the first bits of addresses. Those of ARP are of IPv4.
func prefixOf(q qualifiers, prefix netip.Prefix) (Node, error) {
	types := []uint32{typeIP, typeARP, typeRARP}
	if prefix.Addr().Is6() {
		types = onlyIP6
	}
	if q.protocol != "" {
		of, _ := protocolOf(q.protocol)
		if q.protocol == "ether" || of.transport != 0 {
			return nil, fmt.Errorf("%q has no addresses of hosts: write %s and host %s", q.protocol, q.protocol, prefix.Addr())
		}
		if (of.types[0] == typeIP6) != prefix.Addr().Is6() {
			return nil, fmt.Errorf("%s is not an address of %s", prefix.Addr(), q.protocol)
		}
		types = of.types
	}
	ends := toward(q.direction, func(source bool) Node {
		f := Destination
		if source {
			f = Source
		}
		return startsWith(f, prefix)
	})
	return all(protocol{types: types}.is(), ends), nil
}

// startsWith compares the words of an address that a prefix has bits in.
func startsWith(f Field, prefix netip.Prefix) Node {
	bytes := prefix.Addr().AsSlice()
	var words []Node
	for i, left := 0, prefix.Bits(); left > 0; i, left = i+1, left-32 {
		word := uint32(bytes[4*i])<<24 | uint32(bytes[4*i+1])<<16 | uint32(bytes[4*i+2])<<8 | uint32(bytes[4*i+3])
		if left >= 32 {
			words = append(words, is(f+Field(i), word))
		} else {
			words = append(words, masked(f+Field(i), ^uint32(0)<<(32-left), word))
		}
	}
	if len(words) == 0 {
		return &Compare{"=", Const(0), Const(0)}
	}
	return all(words...)
}
