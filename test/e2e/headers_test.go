//go:build linux

package e2e

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/packets"
	"wprof/test/tools"
)

// headersOf are the values of a packet's headers in the events of its sending or its arrival.
type headersOf struct {
	protocol, source, destination, transport, flags string
	seq, ack, vlan                                  uint64
}

// TestHeadersOfPackets compares the values of packets with the frames that were sent.
func TestHeadersOfPackets(t *testing.T) {
	tools.NeedPrivilege(t)
	link, frames := packets.NewLink(t), packets.Frames()
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "net"}, func() {
		for _, f := range frames {
			link.Send(f.Bytes)
		}
	})
	got := map[string]map[uint64]headersOf{link.From + " tx-0": {}, link.To + " rx-0": {}}
	var dropped []headersOf
	for _, l := range sourceLines(t, file, "packet_sent", "packet_received", "packet_dropped") {
		text := func(name string) string { s, _ := l.Args[name].(string); return s }
		h := headersOf{
			text("protocol"), text("source"), text("destination"), text("transport"), text("flags"), l.number("seq"), l.number("ack"), l.number("vlan"),
		}
		of := got[text("queue")]
		switch {
		case l.Name == "packet_dropped" && text("device") == link.To:
			dropped = append(dropped, h)
		case of != nil:
			size := l.number("bytes")
			if _, twice := of[size]; twice {
				t.Errorf("%s: two events for one frame: %v", l.Name, l.Args)
			}
			of[size] = h
		}
	}
	known := map[headersOf]bool{}
	for _, f := range frames {
		want := headersOf{f.Protocol, f.Source, f.Destination, f.Transport, f.Flags, uint64(f.Seq), uint64(f.Ack), uint64(f.VLAN)}
		for at, of := range got {
			if one, there := of[uint64(len(f.Bytes))]; !there {
				t.Errorf("%s: %s is not recorded", at, f.Name)
			} else if one != want {
				t.Errorf("%s: %s has\n%+v, want\n%+v", at, f.Name, one, want)
			}
		}
		want.vlan = 0
		known[want] = true
	}
	for _, h := range dropped {
		if h.vlan = 0; !known[h] { // the kernel takes tags off
			t.Errorf("a packet was dropped that was not sent: %+v", h)
		}
	}
	if len(dropped) < len(frames)/2 {
		t.Errorf("nobody has an address, but only %d frames were dropped", len(dropped))
	}
}

// TestExpressionSelectsPackets compares the packets that are recorded as sent, as received and as dropped with an expression.
func TestExpressionSelectsPackets(t *testing.T) {
	tools.NeedPrivilege(t)
	link, frames := packets.NewLink(t), packets.Frames()
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "block,net=tcp port 443 and (src host 10.0.0.1 or ip6)"}, func() {
		for _, f := range frames {
			link.Send(f.Bytes)
		}
	})
	selects := func(f *packets.Frame) bool {
		return f.Transport == "TCP" && (f.Protocol == "IPv6" || strings.HasPrefix(f.Source, "10.0.0.1:"))
	}
	want, total := map[string]int{}, uint64(0)
	for _, f := range frames {
		if selects(&f) {
			want[f.Source]++
			total += uint64(len(f.Bytes))
		}
	}
	got, counted := map[string]map[string]int{"packet_sent": {}, "packet_received": {}, "packet_dropped": {}}, uint64(0)
	for _, l := range sourceLines(t, file, "packet_sent", "packet_received", "packet_dropped") {
		queue, _ := l.Args["queue"].(string)
		device, _ := l.Args["device"].(string)
		source, _ := l.Args["source"].(string)
		if strings.HasPrefix(queue, link.From) || strings.HasPrefix(queue, link.To) || device == link.To {
			got[l.Name][source]++
		}
		if queue == link.From+" tx-0" {
			counted = max(counted, l.number("total"))
		}
	}
	for of, sources := range got {
		if of == "packet_dropped" {
			for source := range sources {
				if want[source] == 0 {
					t.Errorf("the drop of a packet from %s is recorded", source)
				}
			}
		} else if !maps.Equal(sources, want) {
			t.Errorf("%s: from %v, want %v", of, sources, want)
		}
	}
	if counted != total {
		t.Errorf("the counter is at %d bytes, %d were sent of the packets that the expression selects", counted, total)
	}
}
