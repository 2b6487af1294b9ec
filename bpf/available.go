//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cilium/ebpf/btf"

	"wprof/format"
)

// ReadTypes reads the kernel's types. Unlike [Check] it needs no privilege, and [Load] does not take its result.
func ReadTypes() (*Preloaded, error) {
	if _, err := os.Stat(kernelBTF); errors.Is(err, fs.ErrNotExist) {
		return nil, unsupported(err, "this kernel has no type information (%s): it must be built with CONFIG_DEBUG_INFO_BTF", kernelBTF)
	}
	p := &Preloaded{types: btf.NewCache()}
	if _, err := p.types.Kernel(); err != nil {
		return nil, fmt.Errorf("read the kernel's type information from %s: %w", kernelBTF, err)
	}
	return p, nil
}

// Lacks returns why a program cannot be attached to its tracepoint; nil: the kernel has that, or the program needs none.
func (p *Preloaded) Lacks(program string) error {
	kernel, err := p.types.Kernel()
	if err != nil {
		return err
	}
	for _, known := range programs() {
		if known.name == program && known.tracepoint != "" {
			return checkTracepoint(kernel, known.tracepoint)
		}
	}
	return nil
}

// ProgramsOf returns the names of the programs that write the events of built-in groups.
func ProgramsOf(g format.Group) (names []string) {
	kinds := format.Kinds()
	for _, p := range programs() {
		if p.kind != 0 && p.kind != format.KindTyped && kinds[p.kind-1].Group == g {
			names = append(names, p.name)
		}
	}
	return names
}

// ReturnPrograms are the programs that take off-CPU stacks, of which one is loaded.
func ReturnPrograms() []string { return []string{AtExit.program(), AtFinish.program()} }

// TracepointPrograms are the programs of chosen tracepoints.
func TracepointPrograms() []string { return []string{tracepointProgram, rawTracepointProgram} }
