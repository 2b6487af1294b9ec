//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
)

// Function is a function of a loaded BPF program, as in /proc/kallsyms.
type Function struct {
	Name   string
	Start  uint64
	Length uint32
}

// Functions returns the functions of all loaded programs, also those of other processes. Without CAP_SYS_ADMIN it returns
// only those of this Tracer's programs, and none where the kernel hides its addresses.
func (t *Tracer) Functions() ([]Function, error) {
	if all, err := allFunctions(); err == nil {
		return all, nil
	}
	var own []Function
	for _, p := range programs() {
		program := t.collection.Programs[p.name]
		if program == nil {
			continue
		}
		functions, err := functionsOf(program)
		if err != nil {
			return nil, fmt.Errorf("read the addresses of program %s: %w", p.name, err)
		}
		own = append(own, functions...)
	}
	return own, nil
}

func functionsOf(program *ebpf.Program) ([]Function, error) {
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	starts, _ := info.JitedKsymAddrs()
	lengths, _ := info.JitedFuncLens()
	if len(starts) != len(lengths) {
		return nil, nil
	}
	infos, _ := info.FuncInfos() // programs without BTF have none
	var all []Function
	for i, start := range starts {
		name := info.Name
		if i < len(infos) {
			name = infos[i].Func.Name
		}
		all = append(all, Function{"bpf_prog_" + name, uint64(start), lengths[i]})
	}
	return all, nil
}

// allFunctions returns the functions of all programs except those that are unloaded meanwhile.
func allFunctions() ([]Function, error) {
	var all []Function
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		id = next
		program, err := ebpf.NewProgramFromID(id)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if functions, err := functionsOf(program); err == nil {
			all = append(all, functions...)
		}
		program.Close()
	}
}
