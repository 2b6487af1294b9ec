//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/proc"
	"wprof/internal/sources"
)

// eventCloser is a perf event.
type eventCloser int

func (fd eventCloser) Close() error { return unix.Close(int(fd)) }

// onlineCPUs returns the numbers of the CPUs that are online.
func onlineCPUs() (online []int, err error) {
	cpus, err := proc.CPUs("/sys")
	for _, cpu := range cpus {
		if !cpu.Offline {
			online = append(online, int(cpu.Id))
		}
	}
	return online, err
}

// eventProgram is a program that runs for each event of a source.
type eventProgram struct {
	event   sources.Event
	program *ebpf.Program
}

// attachToEvent runs a program for each event on each CPU that is online.
func (t *Tracer) attachToEvent(event sources.Event, program *ebpf.Program) error {
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	e := eventProgram{event, program}
	t.onEvents = append(t.onEvents, e)
	for _, cpu := range cpus {
		if err := t.attachToCPU(e, cpu); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracer) attachToCPU(e eventProgram, cpu int) error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: uint64(e.event), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return nil // it has just gone offline
	}
	if err != nil {
		return fmt.Errorf("count software events %d of CPU %d: %w", e.event, cpu, err)
	}
	t.links = append(t.links, eventCloser(fd))
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, e.program.FD()); err != nil {
		return unsupported(err, "this kernel does not let a program be attached to a perf event (%v)", err)
	}
	return nil
}

// setMachine sets the NUMA node of each CPU, and the size of a page.
func setMachine(spec *ebpf.CollectionSpec) error {
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return err
	}
	var nodes [maxCPUs]uint8
	for _, cpu := range cpus {
		if cpu.Id < maxCPUs {
			nodes[cpu.Id] = uint8(cpu.Node)
		}
	}
	return setVariables(spec, map[string]any{"cpu_nodes": nodes, "page_bytes": uint32(unix.Getpagesize())})
}

// maxCPUs is CPUS_MAX of ring.h.
const maxCPUs = 8192
