//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pins hold links in a BPF file system of this process alone, which goes with its only descriptor.
//
// A process that closes the last descriptor of a tracepoint's link waits until no CPU is in the tracepoint: 50 ms, and 15 s for 300 of
// them, also when it is killed. The kernel frees a pinned link in a worker instead: the programs are detached at once, and their perf
// events follow while nobody waits. And a pinned link needs no descriptor.
type pins struct {
	mount int // -1: there is none, and links keep their descriptors
	fds   []int
	count int
}

func newPins() *pins {
	config, err := unix.Fsopen("bpf", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return &pins{mount: -1}
	}
	defer unix.Close(config)
	if unix.FsconfigCreate(config) != nil {
		return &pins{mount: -1}
	}
	mount, err := unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return &pins{mount: -1}
	}
	return &pins{mount: mount}
}

// hold keeps a link until close, and takes over its descriptor.
func (p *pins) hold(link int) {
	if p.mount < 0 || p.pin(link) != nil {
		p.fds = append(p.fds, link)
		return
	}
	_ = unix.Close(link)
}

func (p *pins) pin(link int) error {
	const bpfObjPin = 6 // include/uapi/linux/bpf.h
	name, err := unix.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d/%d", p.mount, p.count))
	if err != nil {
		return err
	}
	p.count++
	pin := struct {
		path unsafe.Pointer
		fd   uint32
		_    uint32
	}{path: unsafe.Pointer(name), fd: uint32(link)}
	_, err = bpfCall(bpfObjPin, unsafe.Pointer(&pin), unsafe.Sizeof(pin))
	return err
}

// close lets all links go.
func (p *pins) close() (err error) {
	if p == nil {
		return nil
	}
	for _, fd := range p.fds {
		err = errors.Join(err, unix.Close(fd))
	}
	if p.mount >= 0 {
		err = errors.Join(err, unix.Close(p.mount))
	}
	return err
}
