//go:build linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"wprof/format"
	"wprof/internal/packetfilter"
	"wprof/internal/ringdata"
	"wprof/test/packets"
	"wprof/test/tools"
)

// expressions have the names of the frames that are selected the other way round by tcpdump, which does not look behind tags of VLANs,
// extensions of IPv6, and for tcp[] at IPv6.
func expressions() map[string][]string {
	return map[string][]string{
		"ip": {"VLAN", "two VLANs"}, "ip6": nil, "arp": nil, "rarp": nil, "tcp": {"VLAN"}, "sctp": nil, "icmp": nil, "icmp6": nil, "igmp": nil,
		"udp":                                         {"two VLANs", "IPv6 extensions"},
		"host 10.0.0.1":                               {"VLAN", "two VLANs"},
		"src host 10.0.0.1 and dst 10.0.0.2":          {"VLAN", "two VLANs"},
		"src or dst host 10.1.2.3":                    nil,
		"src and dst host 10.0.0.1":                   nil,
		"not arp and host 10.1.2.3":                   nil,
		"host 2001:db8::1 and dst port 443":           nil,
		"ip6 host fe80::2":                            nil,
		"net 10.1":                                    nil,
		"net 10.0.0.0/15 and not tcp":                 {"two VLANs"},
		"net 10.0.0.0 mask 255.255.0.0 and udp":       {"two VLANs"},
		"src net 2001:db8::/33":                       nil,
		"dst net fe80::/10":                           nil,
		"arp host 10.0.0.2":                           nil,
		"tcp port 443":                                {"VLAN"},
		"port 443":                                    {"VLAN"},
		"tcp port 443 and host 10.0.0.1":              {"VLAN"},
		"udp src port 53 or 1000":                     {"IPv6 extensions"},
		"port (53 or 67) or src 10.1.2.3":             {"IPv6 extensions"},
		"portrange 60-70 or tcp":                      {"VLAN"},
		"tcp or udp and host 10.1.2.3":                nil,
		"tcp or (udp and host 10.1.2.3)":              {"VLAN"},
		"not (tcp or udp)":                            {"IPv6 extensions", "VLAN", "two VLANs"},
		"not not udp port 68":                         nil,
		"! tcp && ! udp || icmp":                      {"IPv6 extensions", "VLAN", "two VLANs"},
		"ip proto 47":                                 nil,
		"ip proto \\tcp":                              {"VLAN"},
		"proto 58":                                    nil,
		"ether proto 0x88cc":                          nil,
		"ether proto \\arp":                           nil,
		"ether host 02:00:00:00:00:01":                nil,
		"ether dst 01:00:5e:00:00:05":                 nil,
		"broadcast":                                   nil,
		"ether multicast":                             nil,
		"ip multicast":                                nil,
		"less 210":                                    nil,
		"greater 215":                                 nil,
		"len % 2 = 1":                                 nil,
		"vlan and len > 200":                          nil,
		"vlan 5 and tcp port 443":                     nil,
		"vlan 7":                                      nil,
		"ip[8] = 64 and ip[9] < 17":                   {"VLAN"},
		"ip[6:2] & 0x1fff != 0":                       nil,
		"tcp[tcpflags] & (tcp-syn|tcp-push) != 0":     {"TCP of IPv6"},
		"tcp[4:4] > 0x7fffffff":                       nil,
		"tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420": nil,
		"icmp[icmptype] = icmp-echo":                  nil,
		"ether[12:2] = 0x800 and ether[0] & 1 = 1":    nil,
		"ip[2:2] - ((ip[0] & 0xf) << 2) = len - 14 - 20 or icmp": nil,
		"not tcp[100] = 1":                 nil,
		"udp[0:2] / (udp[2:2] - 2000) = 0": {"two VLANs", "IPv6 extensions", "first fragment of IPv6"},
		"inbound":                          nil,
	}
}

// TestPacketsAreThoseThatTcpdumpSelects sends frames and compares what passes the kernel's code of an expression with tcpdump's choice.
func TestPacketsAreThoseThatTcpdumpSelects(t *testing.T) {
	tools.NeedPrivilege(t)
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed")
	}
	link, frames := packets.NewLink(t), packets.Frames()
	file := writeFrames(t, frames)
	selected := 0
	for expression, opposite := range expressions() {
		want := selectByTcpdump(t, file, expression)
		got := selectByKernel(t, link, frames, expression)
		for _, f := range frames {
			w, g := slices.Contains(want, f.Name) != slices.Contains(opposite, f.Name), slices.Contains(got, f.Name)
			if w != g && f.Name != "IPv4 cut short" { // tcpdump looks at as much of the header as there is
				t.Errorf("%s: %s: selected %v, want %v", expression, f.Name, g, w)
			}
		}
		selected += len(got)
	}
	if selected < len(frames) {
		t.Errorf("%d packets pass all expressions", selected)
	}
}

// writeFrames writes a file of pcap-savefile(5).
func writeFrames(t *testing.T, frames []packets.Frame) string {
	t.Helper()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = le.AppendUint32(le.AppendUint32(b, 65535), 1) // Ethernet
	for i, f := range frames {
		for _, n := range []int{i, 0, len(f.Bytes), len(f.Bytes)} {
			b = le.AppendUint32(b, uint32(n))
		}
		b = append(b, f.Bytes...)
	}
	file := filepath.Join(t.TempDir(), "frames.pcap")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// selectByTcpdump returns the names of frames, whose times are their numbers.
func selectByTcpdump(t *testing.T, file, expression string) (names []string) {
	t.Helper()
	if expression == "inbound" {
		return nil // a file has no directions
	}
	out, err := exec.Command("tcpdump", "-r", file, "-w", "-", expression).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("tcpdump %q: %s", expression, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	frames := packets.Frames()
	const header = 24
	for r := bytes.NewBuffer(out[min(header, len(out)):]); r.Len() >= 16; {
		of := r.Next(16)
		names = append(names, frames[binary.LittleEndian.Uint32(of)].Name)
		r.Next(int(binary.LittleEndian.Uint32(of[8:])))
	}
	return names
}

// selectByKernel returns the names of the frames whose sending is recorded.
func selectByKernel(t *testing.T, link *packets.Link, frames []packets.Frame, expression string) (names []string) {
	t.Helper()
	filter, err := packetfilter.Parse(expression, packetfilter.Names{
		Host: func(string) ([]netip.Addr, error) { return nil, errors.New("no names") },
		Port: func(string) (uint16, error) { return 0, errors.New("no names") },
	})
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	tracer, err := Load(Options{Off: format.GroupSched | format.GroupWakeup, Sources: 1 << ringdata.TypeSend, Packets: filter, RingBytes: 1 << 20})
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return nil
	}
	defer tracer.Close()
	if err := tracer.Arm(); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		link.Send(f.Bytes)
	}
	if err := tracer.Disarm(); err != nil {
		t.Fatal(err)
	}
	for _, r := range drain(tracer) {
		if r.kind() != ringdata.KindTyped {
			continue
		}
		for _, f := range frames {
			if r.u32(ringdata.PacketBytes) == len(f.Bytes) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}
