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
	space    *os.File // network namespace
	t        testing.TB
}

// NewLink makes the pair. It lasts until the test ends.
func NewLink(t testing.TB) *Link {
	t.Helper()
	l := &Link{From: fmt.Sprintf("wa%d", os.Getpid()%1_000_000), To: fmt.Sprintf("wb%d", os.Getpid()%1_000_000), t: t}
	elsewhere(t, func() error { return unix.Unshare(unix.CLONE_NEWNET) }, l.begin)
	t.Cleanup(func() {
		_ = unix.Close(l.socket)
		_ = l.space.Close()
	})
	return l
}

// Inside runs a function in the namespace of the devices. Sockets that it makes stay there.
func (l *Link) Inside(f func()) {
	l.t.Helper()
	elsewhere(l.t, func() error { return unix.Setns(int(l.space.Fd()), unix.CLONE_NEWNET) }, f)
}

// elsewhere runs a function in the network namespace that enter moves its thread to.
func elsewhere(t testing.TB, enter func() error, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := enter(); err != nil {
		t.Fatalf("enter a network namespace: %v", err)
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread would go on in the wrong one
		}
	}()
	f()
}

// begin makes the devices, and a socket for frames of the first.
func (l *Link) begin() {
	l.t.Helper()
	var err error
	if l.space, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		l.t.Fatal(err)
	}
	// No device says anything of its own.
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	l.run("ip", "link", "add", l.From, "arp", "off", "type", "veth", "peer", "name", l.To)
	l.run("ip", "link", "set", l.From, "up")
	l.run("ip", "link", "set", l.To, "up")
	device, err := net.InterfaceByName(l.From)
	if err != nil {
		l.t.Fatal(err)
	}
	if l.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		l.t.Fatal(err)
	}
	if err := unix.Bind(l.socket, &unix.SockaddrLinklayer{Ifindex: device.Index}); err != nil {
		l.t.Fatal(err)
	}
}

// Address gives the second device an address, at which it gets frames of the first, and knows the owner of another without asking.
func (l *Link) Address(own, other string) {
	l.t.Helper()
	l.Inside(func() {
		l.run("ip", "link", "set", l.To, "address", hardware(Destination))
		l.run("ip", "address", "add", own+"/24", "dev", l.To)
		l.run("ip", "neighbour", "add", other, "lladdr", hardware(Source), "dev", l.To)
	})
}

func hardware(mac string) string { return net.HardwareAddr(mac).String() }

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
