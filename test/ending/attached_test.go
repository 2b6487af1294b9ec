//go:build linux

package ending

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// attached is what the kernel holds of BPF: "prog 12", "map 3", "link 7".
type attached map[string]bool

// everything lists all BPF objects of this machine.
func everything(t testing.TB) attached {
	t.Helper()
	all := attached{}
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		all[fmt.Sprintf("prog %d", id)] = true
	}
	for id, err := ebpf.MapGetNextID(0); err == nil; id, err = ebpf.MapGetNextID(id) {
		all[fmt.Sprintf("map %d", id)] = true
	}
	for id := nextLink(0); id > 0; id = nextLink(id) {
		all[fmt.Sprintf("link %d", id)] = true
	}
	return all
}

// nextLink is the id of the link after this one (BPF_LINK_GET_NEXT_ID); 0: there is none. Opening links, as a
// link.Iterator of cilium/ebpf does, would keep them.
func nextLink(id uint32) uint32 {
	attr := struct{ start, next, flags uint32 }{start: id}
	if _, _, err := unix.Syscall(unix.SYS_BPF, unix.BPF_LINK_GET_NEXT_ID, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)); err != 0 {
		return 0
	}
	return attr.next
}

// heldBy adds what the process has open.
func (a attached) heldBy(pid string) {
	fds, _ := filepath.Glob("/proc/" + pid + "/fd/*")
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(to, "anon_inode:bpf") {
			continue
		}
		about, _ := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		for line := range strings.Lines(string(about)) {
			key, id, _ := strings.Cut(line, ":")
			if kind, is := strings.CutSuffix(key, "_id"); is && (kind == "prog" || kind == "map" || kind == "link") {
				a[kind+" "+strings.TrimSpace(id)] = true
			}
		}
	}
}

// orphans are programs for tracing, and links, that exist although no process has them open, beyond those that were there
// before. Others record on this machine too, so what belongs to a process counts for nothing, and neither do programs of
// other types, which service managers attach to control groups.
func orphans(t testing.TB, before attached) (left []string) {
	t.Helper()
	all, held := everything(t), attached{}
	maps.DeleteFunc(all, func(id string, _ bool) bool { return before[id] || strings.HasPrefix(id, "map ") })
	if len(all) == 0 {
		return nil
	}
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, pid := range pids {
		held.heldBy(filepath.Base(pid))
	}
	for id := range all {
		if !held[id] && !otherType(id) {
			left = append(left, id)
		}
	}
	return left
}

// otherType reports whether a program is of a type that recorders do not have.
func otherType(id string) bool {
	number := ebpf.ProgramID(0)
	if n, _ := fmt.Sscanf(id, "prog %d", &number); n == 0 {
		return false
	}
	program, err := ebpf.NewProgramFromID(number)
	if err != nil {
		return true // it is gone
	}
	defer program.Close()
	switch program.Type() {
	case ebpf.Tracing, ebpf.PerfEvent, ebpf.Kprobe, ebpf.RawTracepoint, ebpf.TracePoint:
		return false
	}
	return true
}

// nothingLeft waits until the kernel has freed what a dead recorder had: the objects in had, which were its own, and what
// nobody holds. The kernel frees them behind grace periods and by work queues.
func nothingLeft(t testing.TB, before, had attached) {
	t.Helper()
	// Of what turns up later some other recorder has just died.
	suspects := attached{}
	for _, id := range orphans(t, before) {
		suspects[id] = true
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var left []string
		all := everything(t)
		for id := range had {
			if all[id] {
				left = append(left, id)
			}
		}
		if len(suspects) > 0 {
			for _, id := range orphans(t, before) {
				if suspects[id] {
					left = append(left, id+" of nobody")
				}
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("still in the kernel: %v", left)
			return
		}
	}
}

// noBPF checks that a process, which a recorder has started, was not handed any of its descriptors.
func noBPF(t testing.TB, pid int) {
	t.Helper()
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.Contains(to, "bpf") || strings.Contains(to, "perf_event") || strings.Contains(to, "btf") {
			t.Errorf("the command has %s open as %s", to, fd)
		}
	}
}
