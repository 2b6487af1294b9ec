/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The headers of packets. They are read from the linear part of a packet, in which the kernel keeps all headers that it has looked at.
 */
#ifndef WPROF_PACKET_H
#define WPROF_PACKET_H

/* include/uapi/linux/if_ether.h, if_arp.h, in.h, in6.h */
#define ETHERTYPE_IP 0x0800
#define ETHERTYPE_ARP 0x0806
#define ETHERTYPE_RARP 0x8035
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_VLAN_OUTER 0x88a8
#define ETHERTYPE_IPV6 0x86dd
#define ETHERNET_HEADER 14
#define DEVICE_ETHERNET 1
#define DEVICE_LOOPBACK 772
#define PROTOCOL_HOP_OPTIONS 0
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_DCCP 33
#define PROTOCOL_ROUTING 43
#define PROTOCOL_FRAGMENT 44
#define PROTOCOL_AUTHENTICATION 51
#define PROTOCOL_OPTIONS 60
#define PROTOCOL_SCTP 132
#define PROTOCOL_UDPLITE 136

static __always_inline __u16 swap16(__be16 from_network)
{
	return __builtin_bswap16(from_network);
}

enum packet_part {
	HAS_FRAME = 1,
	HAS_TRANSPORT = 2, /* and it is not a later fragment */
	HAS_PORTS = 4,
	IS_SENT = 8,
	IS_RECEIVED = 16,
};

#define VLAN_ID 0xfff
#define VLAN_TAGGED 0x1000

/* What is known of a packet. Addresses of memory are 0 if there is no such header. */
struct packet {
	__u64 frame;	 /* header of the link layer */
	__u64 network;	 /* header behind it and VLAN tags */
	__u64 transport; /* header behind that */
	__u64 end;	 /* of the linear part */
	__u8 source[16]; /* an address of IPv4 takes the first four bytes */
	__u8 destination[16];
	__u32 length; /* of the whole frame */
	__u32 seq;
	__u32 ack;
	__u16 protocol; /* EtherType */
	__u16 vlan; /* id in the outermost tag, and VLAN_TAGGED; 0: there is no tag */
	__u16 source_port;
	__u16 destination_port;
	__u8 family;
	__u8 transport_protocol;
	__u8 flags;
	__u8 has; /* enum packet_part */
};

/* One of the two bytes or more from a byte of words on, in the order of the network. */
static __always_inline __u16 half_at(const __u64 *words, __u32 byte)
{
	return swap16(words[byte / 8] >> byte % 8 * 8);
}

static __always_inline __u32 word_at(const __u64 *words, __u32 byte)
{
	return __builtin_bswap32(words[byte / 8] >> byte % 8 * 8);
}

static __always_inline __u8 byte_at(const __u64 *words, __u32 byte)
{
	return words[byte / 8] >> byte % 8 * 8;
}

static __always_inline bool is_vlan(__u16 protocol)
{
	return protocol == ETHERTYPE_VLAN || protocol == ETHERTYPE_VLAN_OUTER;
}

/* A tag that the device has taken off, or is to put on. */
static __always_inline __u16 vlan_beside(struct sk_buff *skb)
{
	bool present;

	if (bpf_core_field_exists(skb->vlan_all))
		present = skb->vlan_all;
	else
		present = BPF_CORE_READ_BITFIELD(skb, vlan_present);
	return present ? (skb->vlan_tci & VLAN_ID) | VLAN_TAGGED : 0;
}

static __always_inline void find_end(struct packet *p, struct sk_buff *skb)
{
	__u64 data = (__u64)skb->data;

	p->end = data + skb->len - skb->data_len;
	p->length = skb->len;
	if (p->frame) {
		p->has |= HAS_FRAME;
		if (p->frame < data)
			p->length += data - p->frame;
	}
	p->vlan = vlan_beside(skb);
	p->protocol = swap16(skb->protocol);
}

/* What is before the data of a packet that a device has received. */
static __always_inline __u64 link_header(struct sk_buff *skb, __u64 head, __u64 network)
{
	__u64 at = head + skb->mac_header;

	return skb->mac_header != 0xffff && at < network ? at : 0;
}

static __always_inline void find_received(struct packet *p, struct sk_buff *skb)
{
	p->has = IS_RECEIVED;
	p->network = (__u64)skb->data; /* network_header is set after the tracepoint */
	p->frame = link_header(skb, (__u64)skb->head, p->network);
	find_end(p, skb);
}

/* network_header is 0 as long as nobody has looked for it. */
static __always_inline void find_dropped(struct packet *p, struct sk_buff *skb)
{
	if (skb->network_header) {
		p->network = (__u64)skb->head + skb->network_header;
		p->frame = link_header(skb, (__u64)skb->head, p->network);
	}
	find_end(p, skb);
}

/* Of a frame of Ethernet the type in it counts: raw sockets leave network_header at the frame. */
static __always_inline void find_sent(struct packet *p, struct sk_buff *skb, __u16 device_type)
{
	__u64 word;

	p->has = IS_SENT;
	if (device_type != DEVICE_ETHERNET && device_type != DEVICE_LOOPBACK) {
		find_dropped(p, skb);
		return;
	}
	p->frame = (__u64)skb->data;
	p->network = p->frame + ETHERNET_HEADER;
	find_end(p, skb);
	if (p->network > p->end) {
		p->network = 0;
		return;
	}
	read_words(&word, p->frame + 6, 1);
	p->protocol = half_at(&word, 6);
}

#define VLAN_TAGS 2

static __always_inline void skip_tags(struct packet *p)
{
	__u64 word;

#pragma unroll
	for (int i = 0; i < VLAN_TAGS; i++) {
		if (!is_vlan(p->protocol) || p->network + 4 > p->end)
			return;
		read_words(&word, p->network, 1);
		if (!p->vlan)
			p->vlan = (half_at(&word, 0) & VLAN_ID) | VLAN_TAGGED;
		p->protocol = half_at(&word, 2);
		p->network += 4;
	}
}

static __always_inline bool begins_with_ports(__u8 protocol)
{
	return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP || protocol == PROTOCOL_SCTP || protocol == PROTOCOL_UDPLITE ||
	       protocol == PROTOCOL_DCCP;
}

static __always_inline void read_transport(struct packet *p, __u64 at)
{
	__u64 words[2];

	if (at + 4 > p->end)
		return;
	p->transport = at;
	p->has |= HAS_TRANSPORT;
	if (!begins_with_ports(p->transport_protocol))
		return;
	read_words(words, at, 2);
	p->has |= HAS_PORTS;
	p->source_port = half_at(words, 0);
	p->destination_port = half_at(words, 2);
	if (p->transport_protocol != PROTOCOL_TCP || at + 16 > p->end)
		return;
	p->seq = word_at(words, 4);
	p->ack = word_at(words, 8);
	p->flags = byte_at(words, 13);
}

#define EXTENSIONS 6

/* Where the transport header is behind the extensions of IPv6; 0: in another fragment, or behind more than 6 extensions. */
static __noinline __u64 skip_extensions(struct packet *p, __u64 at)
{
	for (int i = 0; i < EXTENSIONS; i++) {
		__u8 protocol = p->transport_protocol;
		__u64 word, length;

		if (protocol != PROTOCOL_HOP_OPTIONS && protocol != PROTOCOL_ROUTING && protocol != PROTOCOL_OPTIONS &&
		    protocol != PROTOCOL_FRAGMENT && protocol != PROTOCOL_AUTHENTICATION)
			return at;
		if (at + 8 > p->end)
			return 0;
		read_words(&word, at, 1);
		length = (byte_at(&word, 1) + 1) * 8;
		if (protocol == PROTOCOL_AUTHENTICATION)
			length = (byte_at(&word, 1) + 2) * 4;
		p->transport_protocol = byte_at(&word, 0);
		if (protocol == PROTOCOL_FRAGMENT) {
			if (half_at(&word, 2) & ~7)
				return 0;
			length = 8;
		}
		at += length;
	}
	return 0;
}

static __always_inline void read_ipv4(struct packet *p, const __u64 *words)
{
	__u8 first = byte_at(words, 0);

	if (p->network + 20 > p->end || first >> 4 != 4)
		return;
	p->family = AF_INET;
	p->transport_protocol = byte_at(words, 9);
	*(__u32 *)p->source = words[1] >> 32;
	*(__u32 *)p->destination = words[2];
	if (!(half_at(words, 6) & 0x1fff)) /* not a later fragment */
		read_transport(p, p->network + (first & 0xf) * 4);
}

static __always_inline void read_ipv6(struct packet *p, const __u64 *words)
{
	__u64 at = p->network + 40;

	if (at > p->end || byte_at(words, 0) >> 4 != 6)
		return;
	p->family = AF_INET6;
	p->transport_protocol = byte_at(words, 6);
	((__u64 *)p->source)[0] = words[1];
	((__u64 *)p->source)[1] = words[2];
	((__u64 *)p->destination)[0] = words[3];
	((__u64 *)p->destination)[1] = words[4];
	if (!begins_with_ports(p->transport_protocol))
		at = skip_extensions(p, at);
	if (at)
		read_transport(p, at);
}

/* The addresses that ARP is about, if it translates those of IPv4 to those of Ethernet. */
static __always_inline void read_arp(struct packet *p, const __u64 *words)
{
	const __u32 ethernet_and_ipv4 = 0x08000604; /* ar_pro, ar_hln, ar_pln */

	if (p->network + 28 > p->end || word_at(words, 2) != ethernet_and_ipv4)
		return;
	p->family = AF_INET;
	*(__u32 *)p->source = (__u32)(words[1] >> 48) | (__u32)words[2] << 16;
	*(__u32 *)p->destination = words[3];
}

/* Reads what is behind the header of the link layer. */
static __noinline int read_headers(struct packet *p)
{
	__u64 words[5];

	if (!p->network)
		return 0;
	skip_tags(p);
	read_words(words, p->network, 5);
	if (p->protocol == ETHERTYPE_IP)
		read_ipv4(p, words);
	else if (p->protocol == ETHERTYPE_IPV6)
		read_ipv6(p, words);
	else if (p->protocol == ETHERTYPE_ARP || p->protocol == ETHERTYPE_RARP)
		read_arp(p, words);
	return 0;
}

/* Whether a packet is recorded. User space replaces the code of this function by that of the expression of -f net=. */
__noinline int packet_wanted(struct packet *p)
{
	int wanted = p != NULL;

	barrier_var(wanted);
	return wanted;
}

static __always_inline __u32 packet_record_size(const struct packet *p)
{
	return sizeof(struct rec_packet) + (p->family == AF_INET ? 8 : p->family ? 32 : 0);
}

/* Room for the event of a packet with all but what is in rec_packet.of; NULL: there is none, and the loss is counted. */
static __always_inline struct rec_packet *reserve_packet(__u32 type, const struct packet *p, __u32 bytes)
{
	struct rec_packet *rec = reserve_source(bpf_get_current_task_btf()->pid, type, packet_record_size(p));

	if (!rec)
		return NULL;
	rec->start = 0;
	rec->type = type;
	rec->bytes = bytes;
	rec->protocol = p->protocol;
	rec->vlan = p->vlan & VLAN_ID;
	rec->family = p->family;
	rec->transport = p->transport_protocol;
	rec->flags = p->flags;
	rec->pad = 0;
	rec->source_port = p->source_port;
	rec->destination_port = p->destination_port;
	rec->seq = p->seq;
	rec->ack = p->ack;
	rec->pad2 = 0;
	if (p->family == AF_INET) {
		((__u32 *)rec->addresses)[0] = *(__u32 *)p->source;
		((__u32 *)rec->addresses)[1] = *(__u32 *)p->destination;
	} else if (p->family) {
		__builtin_memcpy(rec->addresses, p->source, 32);
	}
	return rec;
}

static __always_inline void submit_packet(struct rec_packet *rec, const struct packet *p)
{
	submit(rec, packet_record_size(p));
}

#endif
