//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// LoadedProgram is a BPF program that is loaded.
type LoadedProgram struct {
	Name      string
	ID        uint32
	Type      string
	Functions []*btf.Func // the program itself, and its subprograms; nil: its types are not known
}

// LoadedPrograms returns the BPF programs that are loaded, by their ids.
func LoadedPrograms() (all []LoadedProgram, err error) {
	err = eachProgram(func(_ *ebpf.Program, info *ebpf.ProgramInfo) error {
		all = append(all, loadedProgram(info))
		return nil
	})
	return all, err
}

// eachProgram visits the loaded BPF programs.
func eachProgram(visit func(*ebpf.Program, *ebpf.ProgramInfo) error) error {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the loaded BPF programs: %w", err)
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // it has been unloaded
		}
		info, err := p.Info()
		if err == nil {
			err = visit(p, info)
		} else {
			err = nil
		}
		_ = p.Close()
		if err != nil {
			return err
		}
	}
}

// loadedProgram describes one program. The kernel keeps 15 bytes of a program's name, and its types have all of it.
func loadedProgram(info *ebpf.ProgramInfo) LoadedProgram {
	id, _ := info.ID()
	one := LoadedProgram{Name: info.Name, ID: uint32(id), Type: info.Type.String(), Functions: typedFunctions(info)}
	if i := slices.IndexFunc(one.Functions, func(f *btf.Func) bool { return strings.HasPrefix(f.Name, one.Name) }); i == 0 {
		one.Name = one.Functions[0].Name
	}
	return one
}

// typedFunctions returns the functions of a program, of which the first is its entry point; nil: its types are not known.
func typedFunctions(info *ebpf.ProgramInfo) (all []*btf.Func) {
	functions, err := info.FuncInfos()
	if err != nil {
		return nil
	}
	for _, f := range functions {
		all = append(all, f.Func)
	}
	return all
}
