// Package packetfilter reads conditions on packets in the syntax of pcap-filter(7). What a condition looks at are the headers that the
// kernel programs have found, see bpf/packet.h, and bytes of these headers.
package packetfilter
