package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hotplug reports CPUs that come online, and kernel modules that are loaded or unloaded. For CPUs that go offline nothing is to be done: the
// kernel removes their perf events, and what they wrote is still read.
//
// A nil hotplug reports nothing.
type hotplug struct {
	events  *os.File
	started bool
	done    chan struct{}
}

// ueventGroup is the multicast group of the kernel's own messages (NETLINK_KOBJECT_UEVENT), group 2 is that of udev.
const ueventGroup = 1

// openHotplug subscribes to messages, so that nothing is missed until start.
func openHotplug() (*hotplug, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: ueventGroup}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bind a socket: %w", err)
	}
	return &hotplug{events: os.NewFile(uintptr(fd), "uevents"), done: make(chan struct{})}, nil
}

// start calls online with each CPU that has come online since openHotplug, and modules, if it is not nil, when kernel modules were loaded or
// unloaded, until close.
func (h *hotplug) start(online func(cpu int), modules func()) {
	if h != nil {
		h.started = true
		go h.read(online, modules)
	}
}

func (h *hotplug) isStarted() bool { return h != nil && h.started }

func (h *hotplug) read(online func(cpu int), modules func()) {
	defer close(h.done)
	message := make([]byte, 8<<10) // the kernel's are of 2 KiB at most
	for {
		n, err := h.events.Read(message)
		if errors.Is(err, unix.ENOBUFS) {
			continue // some were lost; others follow
		}
		if err != nil {
			return
		}
		if cpu, ok := cameOnline(message[:n]); ok {
			online(cpu)
		}
		if modules != nil && changesModules(message[:n]) {
			modules()
		}
	}
}

// cameOnline parses a message such as online@/devices/system/cpu/cpu1, with variables after a zero byte.
func cameOnline(message []byte) (cpu int, ok bool) {
	head, _, _ := bytes.Cut(message, []byte{0})
	device, ok := strings.CutPrefix(string(head), "online@")
	if !ok || path.Dir(device) != "/devices/system/cpu" {
		return 0, false
	}
	number, ok := strings.CutPrefix(path.Base(device), "cpu")
	if !ok {
		return 0, false
	}
	cpu, err := strconv.Atoi(number)
	return cpu, err == nil && cpu >= 0
}

// changesModules parses a message such as add@/module/ext4.
func changesModules(message []byte) bool {
	for _, action := range []string{"add@/module/", "remove@/module/"} {
		if name, ok := bytes.CutPrefix(message, []byte(action)); ok {
			head, _, _ := bytes.Cut(name, []byte{0})
			return len(head) > 0 && !bytes.Contains(head, []byte("/"))
		}
	}
	return false
}

// close returns when no more CPUs are reported.
func (h *hotplug) close() {
	if h == nil {
		return
	}
	_ = h.events.Close()
	if h.started {
		<-h.done
	}
}
