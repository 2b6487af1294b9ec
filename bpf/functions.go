//go:build linux

package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Function is one function of a kernel program that is loaded, as the kernel's own list of symbols has it.
type Function struct {
	Name   string
	Start  uint64
	Length uint32
}

// Functions are those of this Tracer's programs. Where the kernel hides its addresses there are none.
func (t *Tracer) Functions() ([]Function, error) {
	var all []Function
	for _, p := range programs() {
		program := t.collection.Programs[p.name]
		if program == nil {
			continue
		}
		functions, err := functionsOf(program)
		if err != nil {
			return nil, fmt.Errorf("read where program %s lies: %w", p.name, err)
		}
		all = append(all, functions...)
	}
	return all, nil
}

func functionsOf(program *ebpf.Program) ([]Function, error) {
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	starts, _ := info.JitedKsymAddrs()
	lengths, _ := info.JitedFuncLens()
	offsets, err := info.FuncInfos()
	if err != nil || len(starts) != len(lengths) || len(offsets) != len(starts) {
		return nil, err
	}
	var all []Function
	for i, start := range starts {
		all = append(all, Function{fmt.Sprintf("bpf_prog_%s", offsets[i].Func.Name), uint64(start), lengths[i]})
	}
	return all, nil
}
