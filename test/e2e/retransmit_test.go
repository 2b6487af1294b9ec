//go:build linux

package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/packets"
	"wprof/test/tools"
)

// TestSentAgainIsWhatTheKernelCounts has a listener whose SYN-ACKs nobody answers, and a client whose SYNs nobody does.
func TestSentAgainIsWhatTheKernelCounts(t *testing.T) {
	tools.NeedPrivilege(t)
	const own, other, port = "10.0.0.2", "10.0.0.1", 443
	link := packets.NewLink(t)
	link.Address(own, other)
	var counted int
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "net"}, func() {
		link.Inside(func() {
			listener, err := net.Listen("tcp4", own+":"+strconv.Itoa(port))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			for i := range 5 {
				link.Send(packets.Syn(other, uint16(1001+i), own, port))
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3500*time.Millisecond) // later, both wait for seconds
			defer cancel()
			if c, err := new(net.Dialer).DialContext(ctx, "tcp4", other+":80"); err == nil {
				_ = c.Close()
				t.Error("somebody answered")
			}
			counted = retransmitted(t)
		})
	})
	got := map[string]int{}
	for _, l := range sourceLines(t, file, "tcp_retransmit") {
		local, _ := l.Args["local"].(string)
		remote, _ := l.Args["remote"].(string)
		state, _ := l.Args["state"].(string)
		if strings.HasPrefix(local, own+":") && strings.HasPrefix(remote, other+":") {
			got[state]++
		}
		if state == "NEW_SYN_RECV" && local != own+":"+strconv.Itoa(port) {
			t.Errorf("a SYN-ACK from %s to %s", local, remote)
		}
	}
	if sum := got["NEW_SYN_RECV"] + got["SYN_SENT"]; sum != counted || got["NEW_SYN_RECV"] < 5 || got["SYN_SENT"] == 0 {
		t.Errorf("the kernel counts %d segments, the capture has %v", counted, got)
	}
}

// retransmitted is the count of TCP in the network namespace of this thread.
func retransmitted(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] != "Tcp:" {
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" {
				n, _ := strconv.Atoi(words[i])
				return n
			}
		}
		names = words
	}
	t.Fatal("/proc/net/snmp has no RetransSegs")
	return 0
}
