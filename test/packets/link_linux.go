package packets

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Link is a pair of connected devices in a network namespace in which nothing else happens.
type Link struct {
	From, To string // names of the devices
	socket   int
	t        testing.TB
}

// NewLink makes the pair. It lasts until the test ends.
func NewLink(t testing.TB) *Link {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
	defer func() { // the socket keeps the new one
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread would go on in the wrong one
		}
	}()
	// No device says anything of its own.
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	l := &Link{From: fmt.Sprintf("wa%d", os.Getpid()%1_000_000), To: fmt.Sprintf("wb%d", os.Getpid()%1_000_000), t: t}
	l.run("ip", "link", "add", l.From, "arp", "off", "type", "veth", "peer", "name", l.To)
	l.run("ip", "link", "set", l.From, "up")
	l.run("ip", "link", "set", l.To, "up")
	device, err := net.InterfaceByName(l.From)
	if err != nil {
		t.Fatal(err)
	}
	if l.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(l.socket, &unix.SockaddrLinklayer{Ifindex: device.Index}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(l.socket) })
	return l
}

func (l *Link) run(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// Send sends a frame from one device to the other.
func (l *Link) Send(frame []byte) {
	l.t.Helper()
	if _, err := unix.Write(l.socket, frame); err != nil {
		l.t.Fatalf("send a frame of %d bytes: %v", len(frame), err)
	}
}
