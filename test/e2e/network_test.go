//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// loopbackCounts are the packets and bytes of lo in /proc/net/dev, received and sent.
type loopbackCounts struct {
	from, to int64
	of       [4]uint64
}

func readLoopback(t *testing.T) loopbackCounts {
	t.Helper()
	c := loopbackCounts{from: proc.Monotonic()}
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	c.to = proc.Monotonic()
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "lo" {
			words := strings.Fields(rest)
			for i, column := range []int{1, 9, 0, 8} {
				c.of[i], _ = strconv.ParseUint(words[column], 10, 64)
			}
		}
	}
	return c
}

// TestPacketsAreThoseThatTheKernelCounts compares the packets of the loopback device with /proc/net/dev.
func TestPacketsAreThoseThatTheKernelCounts(t *testing.T) {
	tools.NeedPrivilege(t)
	var before, after loopbackCounts
	const sent = 3000
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "net"}, func() {
		receiver, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer receiver.Close()
		sender, err := net.Dial("udp4", receiver.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer sender.Close()
		before = readLoopback(t)
		for i := range sent {
			_, _ = sender.Write(make([]byte, 100+i%400))
		}
		time.Sleep(20 * time.Millisecond)
		after = readLoopback(t)
	})
	const etherHeader = 14 // the loopback device does not count it
	opened := openTime(t, file)
	var surely, maybe [3]uint64 // packets received and sent, and received bytes
	for _, l := range sourceLines(t, file, "packet_received", "packet_sent") {
		if queue, _ := l.Args["queue"].(string); !strings.HasPrefix(queue, "lo ") {
			continue
		}
		i := 0
		if l.Name == "packet_sent" {
			i = 1
		}
		at := opened + int64(l.TS*1e9)
		add := func(to *[3]uint64) {
			to[i]++
			if i == 0 {
				to[2] += l.number("bytes") - etherHeader
			}
		}
		const apart = int64(5e6)
		if at > before.to+apart && at < after.from-apart {
			add(&surely)
		}
		if at > before.from-apart && at < after.to+apart {
			add(&maybe)
		}
	}
	for i, what := range []string{"received packets", "sent packets", "received bytes"} {
		if n := after.of[i] - before.of[i]; n < sent || n < surely[i] || n > maybe[i] {
			t.Errorf("%s: the kernel counts %d, the capture has %d to %d", what, n, surely[i], maybe[i])
		}
	}
}

// TestDropsAndStatesOfConnections does to connections what is to be recorded.
func TestDropsAndStatesOfConnections(t *testing.T) {
	tools.NeedPrivilege(t)
	closed, full := closedPort(t), 0
	var server, client string
	const refused = 20
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "net"}, func() {
		for range refused {
			c, err := net.Dial("udp4", "127.0.0.1:"+strconv.Itoa(closed))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte("nobody reads this"))
			_, _ = c.Read(make([]byte, 1)) // the port is closed
			_ = c.Close()
		}
		server, client = connectAndClose(t)
		full = connectToFullListener(t)
	})
	reasons, errors, states, retransmitted := map[string]int{}, 0, map[string][]string{}, 0
	for _, l := range sourceLines(t, file, "packet_dropped", "socket_error", "tcp_state", "tcp_retransmit") {
		local, _ := l.Args["local"].(string)
		remote, _ := l.Args["remote"].(string)
		switch l.Name {
		case "packet_dropped":
			reason, _ := l.Args["reason"].(string)
			function, _ := l.Args["function"].(string)
			reasons[reason]++
			if function == "" {
				t.Errorf("a drop for %s has no function", reason)
			}
		case "socket_error":
			if remote == "127.0.0.1:"+strconv.Itoa(closed) && l.number("errno") == uint64(unix.ECONNREFUSED) {
				errors++
			}
		case "tcp_state":
			to, _ := l.Args["to"].(string)
			if local == client && remote == server || local == "127.0.0.1:0" && remote == server {
				states["client"] = append(states["client"], to)
			}
		case "tcp_retransmit":
			if remote == "127.0.0.1:"+strconv.Itoa(full) && l.Args["state"] == "SYN_SENT" {
				retransmitted++
			}
		}
	}
	if n := reasons["SKB_DROP_REASON_NO_SOCKET"]; n < refused {
		t.Errorf("%d packets to a closed port, the capture has drops %v", refused, reasons)
	}
	if errors != refused {
		t.Errorf("%d sockets got ECONNREFUSED, the capture has %d", refused, errors)
	}
	if got := strings.Join(states["client"], " "); got != "SYN_SENT ESTABLISHED FIN_WAIT1 FIN_WAIT2 CLOSE" {
		t.Errorf("the states of the client were %s", got)
	}
	if retransmitted == 0 {
		t.Error("no SYN was sent again")
	}
}

func closedPort(t *testing.T) int {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// connectAndClose makes a connection that the client closes first.
func connectAndClose(t *testing.T) (server, client string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_, _ = s.Read(make([]byte, 1))
	_ = s.Close()
	time.Sleep(20 * time.Millisecond)
	return listener.Addr().String(), c.LocalAddr().String()
}

// connectToFullListener tries to connect to a socket that takes no more connections, until TCP tries again.
func connectToFullListener(t *testing.T) (port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port = at.(*unix.SockaddrInet4).Port
	for range 3 {
		if c, err := net.DialTimeout("tcp4", "127.0.0.1:"+strconv.Itoa(port), 1500*time.Millisecond); err == nil {
			defer c.Close()
		}
	}
	return port
}
