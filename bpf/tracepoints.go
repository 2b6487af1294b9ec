//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"wprof/internal/tracepoint"
)

const (
	tracepointProgram    = "tracepoint_event"
	rawTracepointProgram = "raw_tracepoint_event"
)

// hasTracepoints reports whether events of tracepoints are recorded, raw ones or others.
func (o *Options) hasTracepoints(raw bool) bool {
	for _, t := range o.Tracepoints {
		if t.IsRaw() == raw {
			return true
		}
	}
	return false
}

// copyInstruction mirrors struct tracepoint in tracepoint.h.
type copyInstruction struct {
	From, To, Location, Relative uint32
	Strings                      [tracepoint.MaxStrings]uint32
}

// describeTracepoints gives the kernel programs what to copy.
func (t *Tracer) describeTracepoints() error {
	m := t.collection.Maps["tracepoints"]
	for i, of := range t.options.Tracepoints {
		c := copyInstruction{From: uint32(of.From), To: uint32(of.To), Location: uint32(of.Location)}
		if of.Relative {
			c.Relative = 1
		}
		for n, argument := range of.Strings {
			c.Strings[n] = uint32(argument) + 1
		}
		if err := m.Put(uint32(i), &c); err != nil {
			return fmt.Errorf("describe the tracepoint %s to the kernel programs: %w", of.FullName(), err)
		}
	}
	return nil
}

// attachTracepoints attaches one program to all tracepoints that have a record. It must not be attached to any before they are described.
func (t *Tracer) attachTracepoints(program *ebpf.Program) error {
	if err := t.describeTracepoints(); err != nil {
		return err
	}
	cpu, err := currentCPU()
	if err != nil {
		return err
	}
	for i, of := range t.options.Tracepoints {
		if of.IsRaw() {
			continue
		}
		link, err := attachTracepoint(program.FD(), of.ID, uint64(i), cpu)
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to the tracepoint %s (%v): leave it out", of.FullName(), err)
		}
		t.pinned().hold(link)
	}
	return nil
}

// attachTracepoint attaches a program to an event of the kernel. The perf event that this takes is of one CPU, but its program runs on
// all. It is never enabled, so that perf has no work with it, and the link keeps it.
func attachTracepoint(program, id int, cookie uint64, cpu int) (link int, err error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Config: uint64(id), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled,
	}
	event, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(event)
	return createLink(program, event, cookie)
}

// currentCPU returns a CPU that is online.
func currentCPU() (int, error) {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, fmt.Errorf("find out the CPU that this thread runs on: %w", errno)
	}
	return int(cpu), nil
}

// createLink attaches a program to a perf event.
func createLink(program, event int, cookie uint64) (int, error) {
	const bpfLinkCreate, bpfPerfEvent = 28, 41 // include/uapi/linux/bpf.h
	create := struct {
		program, target, attachType, flags uint32
		cookie                             uint64
	}{uint32(program), uint32(event), bpfPerfEvent, 0, cookie}
	return bpfCall(bpfLinkCreate, unsafe.Pointer(&create), unsafe.Sizeof(create))
}

func bpfCall(command uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(attr), size)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// loadProgram loads one more program that shares the maps.
type loadProgram func(*ebpf.ProgramSpec) (*ebpf.Program, error)

// attachRawTracepoints attaches the program for raw tracepoints, or copies of it.
func (t *Tracer) attachRawTracepoints(spec *ebpf.ProgramSpec, load loadProgram) error {
	if spec == nil || !t.options.hasTracepoints(true) {
		return nil
	}
	if err := t.describeTracepoints(); err != nil {
		return err
	}
	shared := t.loadSharedProgram(spec, load)
	for i, of := range t.options.Tracepoints {
		if !of.IsRaw() {
			continue
		}
		link, err := t.attachRawTracepoint(shared, load, spec, of.Name, uint64(i))
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to the raw tracepoint %s (%v): leave it out", of.Name, err)
		}
		t.pinned().hold(link)
	}
	return nil
}

// loadSharedProgram loads the program that has a cookie at each tracepoint; nil: this kernel has none for raw ones.
func (t *Tracer) loadSharedProgram(spec *ebpf.ProgramSpec, load loadProgram) *ebpf.Program {
	if t.options.copyRawProgram {
		return nil
	}
	shared, err := load(spec)
	if err != nil {
		return nil
	}
	t.rawPrograms = append(t.rawPrograms, shared)
	return shared
}

// attachRawTracepoint attaches the shared program with a cookie, or without cookies a copy of the program.
func (t *Tracer) attachRawTracepoint(shared *ebpf.Program, load loadProgram, spec *ebpf.ProgramSpec, name string, number uint64) (int, error) {
	if shared != nil {
		link, err := openRawTracepoint(shared.FD(), name, number)
		if err == nil || !errors.Is(err, unix.E2BIG) && !errors.Is(err, unix.EINVAL) {
			return link, err
		}
	}
	own, err := load(withNumber(spec, number))
	if err != nil {
		return -1, err
	}
	t.rawPrograms = append(t.rawPrograms, own)
	return openRawTracepoint(own.FD(), name, 0)
}

// openRawTracepoint attaches a program; without a cookie also on kernels that have none for raw tracepoints.
func openRawTracepoint(program int, name string, cookie uint64) (int, error) {
	const bpfRawTracepointOpen = 17
	cName, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	open := struct {
		name             unsafe.Pointer
		program, padding uint32
		cookie           uint64
	}{unsafe.Pointer(cName), uint32(program), 0, cookie}
	size := unsafe.Sizeof(open)
	if cookie == 0 {
		size = unsafe.Offsetof(open.cookie)
	}
	return bpfCall(bpfRawTracepointOpen, unsafe.Pointer(&open), size)
}

// withNumber is a copy of a program with a number instead of the call for its cookie.
func withNumber(spec *ebpf.ProgramSpec, number uint64) *ebpf.ProgramSpec {
	own := spec.Copy()
	for i, ins := range own.Instructions {
		if ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnGetAttachCookie {
			own.Instructions[i] = asm.Mov.Imm(asm.R0, int32(number)).WithMetadata(ins.Metadata)
		}
	}
	return own
}

// closeTracepoints detaches the programs.
func (t *Tracer) closeTracepoints() error {
	err := t.tracepoints.close()
	t.tracepoints = nil
	for _, p := range t.rawPrograms {
		err = errors.Join(err, p.Close())
	}
	t.rawPrograms = nil
	return err
}
