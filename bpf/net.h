/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Packets between the network devices and the protocols, packets that are dropped, and what happens to connections.
 *
 * A packet that the device merges from several, or splits into several, is one here (GRO, TSO). Counters begin when the programs are
 * attached; the map of queues has room for 4,096, and packets of further ones have no counters.
 */
#ifndef WPROF_NET_H
#define WPROF_NET_H

#define QUEUES 4096

struct queue_counts {
	__u64 name; /* text */
	__u64 bytes;
	__u64 packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, QUEUES);
	__type(key, __u64); /* of struct net_device, direction and queue */
	__type(value, struct queue_counts);
} queue_counts SEC(".maps");

static const char send_name[] = "%s tx-%u", receive_name[] = "%s rx-%u";

/* The id of the name of a queue, like eth0 tx-1; 0: there is no room for it. */
static __noinline __u64 intern_queue(__u64 key, __u64 device_name, __u32 queue, bool sends)
{
	struct new_text new = begin_text(key);
	__u64 args[2] = {device_name, queue};
	long length;

	if (!new.rec)
		return new.id;
	if (sends)
		length = bpf_snprintf(new.rec->text, sizeof(new.rec->text), send_name, args, sizeof(args));
	else
		length = bpf_snprintf(new.rec->text, sizeof(new.rec->text), receive_name, args, sizeof(args));
	return end_text(&new, length);
}

/* Counts a packet, and returns the counts with it. */
static __always_inline struct queue_counts count_packet(__u64 key, __u32 bytes)
{
	struct queue_counts *known = bpf_map_lookup_elem(&queue_counts, &key), counts = {.bytes = bytes, .packets = 1};

	if (!known) {
		bpf_map_update_elem(&queue_counts, &key, &counts, BPF_ANY);
		return counts;
	}
	counts.bytes += __sync_fetch_and_add(&known->bytes, bytes);
	counts.packets += __sync_fetch_and_add(&known->packets, 1);
	return counts;
}

/* Writes the event of a packet to or from a queue. */
static __always_inline int write_of_queue(__u32 type, const struct packet *p, __u64 device, __u32 queue, __u32 bytes)
{
	bool sends = type == TYPE_SEND;
	__u64 key = device ^ (__u64)queue << 48 ^ (__u64)sends << 63, name;
	struct queue_counts counts = count_packet(key, bytes);
	struct rec_packet *rec;

	if (!within_limit(type))
		return 0;
	name = intern_queue(key, device + bpf_core_field_offset(struct net_device, name), queue, sends);
	rec = reserve_packet(type, p, bytes);
	if (!rec)
		return 0;
	rec->of[0] = name;
	rec->of[1] = counts.bytes;
	rec->of[2] = counts.packets;
	submit_packet(rec, p);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int net_dev_start_xmit(unsigned long long *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct packet p = {};

	if (!armed || !passes_filter_noinline(bpf_get_current_task_btf()))
		return 0;
	find_sent(&p, skb, ((struct net_device *)ctx[1])->type);
	read_headers(&p);
	if (!packet_wanted(&p))
		return 0;
	return write_of_queue(TYPE_SEND, &p, argument_word(ctx, 1), skb->queue_mapping, skb->len);
}

/* The device counts its queues from 1, 0 is for none. */
SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(unsigned long long *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	__u32 queue = skb->queue_mapping;
	struct packet p = {};
	__u64 device;

	if (!armed || !passes_filter_noinline(bpf_get_current_task_btf()))
		return 0;
	find_received(&p, skb);
	read_headers(&p);
	if (!packet_wanted(&p))
		return 0;
	device = read_kernel_word(argument_word(ctx, 0) + bpf_core_field_offset(struct sk_buff, dev));
	return write_of_queue(TYPE_RECEIVE, &p, device, queue ? queue - 1 : 0, p.length);
}

#define BTF_COMPACT 3 /* BTF_F_COMPACT | BTF_F_NONAME of include/uapi/linux/bpf.h */

/* The id of the name of a reason in the running kernel; 0: there is no room for it. */
static __noinline __u64 intern_reason(__u32 reason)
{
	struct btf_ptr value = {.ptr = &reason, .type_id = bpf_core_type_id_kernel(enum skb_drop_reason)};
	struct new_text new = begin_text((__u64)reason << 32 | TYPE_DROP);

	if (!new.rec)
		return new.id;
	return end_text(&new, bpf_snprintf_btf(new.rec->text, sizeof(new.rec->text), &value, sizeof(value), BTF_COMPACT));
}

/* Up to 5.17 there is no reason. */
SEC("tp_btf/kfree_skb")
int kfree_skb(unsigned long long *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	__u64 reason, where, device, name = 0;
	struct packet p = {};
	struct rec_packet *rec;

	if (!armed || !passes_filter_noinline(bpf_get_current_task_btf()))
		return 0;
	find_dropped(&p, skb);
	read_headers(&p);
	if (!packet_wanted(&p) || !within_limit(TYPE_DROP))
		return 0;
	reason = intern_reason(argument_word(ctx, 2));
	where = intern_symbol(argument_word(ctx, 1));
	device = read_kernel_word(argument_word(ctx, 0) + bpf_core_field_offset(struct sk_buff, dev));
	if (device)
		name = intern_text(device + bpf_core_field_offset(struct net_device, name));
	rec = reserve_packet(TYPE_DROP, &p, p.length);
	if (!rec)
		return 0;
	rec->of[0] = reason;
	rec->of[1] = where;
	rec->of[2] = name;
	submit_packet(rec, &p);
	return 0;
}

/* Both ends of a connection, as struct rec_endpoint. */
static __always_inline void write_ends(__u64 *values, struct sock *sk)
{
	struct rec_endpoint *local = (struct rec_endpoint *)values, *remote = local + 1;
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	__builtin_memset(local, 0, 2 * sizeof(*local));
	local->family = remote->family = family;
	local->port = BPF_CORE_READ(sk, __sk_common.skc_num);
	remote->port = swap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&local->address, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&remote->address, sk, __sk_common.skc_v6_daddr);
	} else {
		BPF_CORE_READ_INTO((__u32 *)local->address, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)remote->address, sk, __sk_common.skc_daddr);
	}
}

#define END_WORDS (2 * sizeof(struct rec_endpoint) / sizeof(__u64))

/* Room for an event of a connection, whose values after both ends begin at END_WORDS; NULL: it is not recorded. */
static __always_inline __u64 *reserve_connection(__u32 type, struct sock *sk, __u32 more)
{
	__u64 *values;

	if (!armed || !passes_filter_noinline(bpf_get_current_task_btf()) || !within_limit(type))
		return NULL;
	values = reserve_typed(type, 0, END_WORDS + more);
	if (values)
		write_ends(values, sk);
	return values;
}

SEC("tp_btf/tcp_retransmit_skb")
int tcp_retransmit_skb(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)argument_word(ctx, 0);
	struct sk_buff *skb = (struct sk_buff *)argument_word(ctx, 1);
	__u64 *values = reserve_connection(TYPE_RETRANSMIT, sk, 2);

	if (!values)
		return 0;
	values[END_WORDS] = BPF_CORE_READ(sk, __sk_common.skc_state);
	values[END_WORDS + 1] = skb ? BPF_CORE_READ(skb, len) : 0;
	submit_typed(values, END_WORDS + 2);
	return 0;
}

/* A request begins with the struct sock_common of the connection to be. SYN-ACKs carry no data. */
SEC("tp_btf/tcp_retransmit_synack")
int tcp_retransmit_synack(unsigned long long *ctx)
{
	struct sock *request = (struct sock *)argument_word(ctx, 1);
	__u64 *values = reserve_connection(TYPE_RETRANSMIT, request, 2);

	if (!values)
		return 0;
	values[END_WORDS] = BPF_CORE_READ(request, __sk_common.skc_state);
	values[END_WORDS + 1] = 0;
	submit_typed(values, END_WORDS + 2);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int inet_sock_set_state(unsigned long long *ctx)
{
	__u64 *values = reserve_connection(TYPE_TCP_STATE, (struct sock *)argument_word(ctx, 0), 2);

	if (!values)
		return 0;
	values[END_WORDS] = (__u32)argument_word(ctx, 1);
	values[END_WORDS + 1] = (__u32)argument_word(ctx, 2);
	submit_typed(values, END_WORDS + 2);
	return 0;
}

/* An error that the network reports to a socket. */
SEC("tp_btf/inet_sk_error_report")
int inet_sk_error_report(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)argument_word(ctx, 0);
	__u64 *values = reserve_connection(TYPE_SOCKET_ERROR, sk, 1);

	if (!values)
		return 0;
	values[END_WORDS] = BPF_CORE_READ(sk, sk_err);
	submit_typed(values, END_WORDS + 1);
	return 0;
}

#endif
