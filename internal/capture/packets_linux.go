package capture

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"wprof/internal/packetfilter"
)

// setPackets sets which packets are recorded; without an expression, all are.
func (cfg *Config) setPackets(expression string, given bool) (err error) {
	cfg.Kernel.Packets = nil
	if given {
		cfg.Kernel.Packets, err = readPackets(expression)
	}
	return err
}

// checkPackets validates an expression before anything happens.
func checkPackets(expression string) error {
	_, err := readPackets(expression)
	return err
}

// readPackets reads an expression of pcap-filter(7).
func readPackets(expression string) (packetfilter.Node, error) {
	const patience = 5 * time.Second // for all names of hosts
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	filter, err := packetfilter.Parse(expression, packetfilter.Names{
		Host: func(name string) ([]netip.Addr, error) { return hostAddresses(ctx, name) },
		Port: func(name string) (uint16, error) { return servicePort(ctx, name) },
	})
	if err != nil {
		return nil, fmt.Errorf("net=%s: %w", beginning(expression), err)
	}
	return filter, nil
}

// beginning is as much of an expression as a message should have.
func beginning(expression string) string {
	const most = 200
	if len(expression) <= most {
		return expression
	}
	return strings.ToValidUTF8(expression[:most], "") + "…"
}

func hostAddresses(ctx context.Context, name string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for i := range found {
		found[i] = found[i].Unmap().WithZone("")
	}
	return found, err
}

func servicePort(ctx context.Context, name string) (uint16, error) {
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", name)
	if err != nil {
		port, err = net.DefaultResolver.LookupPort(ctx, "udp", name)
	}
	return uint16(port), err
}
