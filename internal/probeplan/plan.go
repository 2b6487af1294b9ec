// Package probeplan finds what user-defined probes name, and plans their kernel programs and event types. It knows the machine through an
// interface, so that it works without privileges in tests.
package probeplan

import (
	"debug/elf"
	"fmt"

	"github.com/cilium/ebpf/btf"

	"wprof/format"
	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/tracepoint"
	"wprof/internal/usercode"
)

// System is what a plan needs to know of the machine. Errors of type [*usercode.NotFound] have near names.
type System interface {
	Machine() elf.Machine
	Types() (*btf.Spec, error)
	Tracepoint(category, name string) (*tracepoint.Tracepoint, error)
	RawTracepoint(name string) ([]kerneltype.Param, error)
	KernelFunctions(pattern string) ([]KernelFunction, error)
	HasKprobes() bool
	Programs(target string) ([]BPFFunction, error)
	Open(path string) (*usercode.File, error)
	Path(name string) (string, error) // the file of a program or library
	Files(pid int) ([]string, error)  // with code, of a process: the program first
	GPUProcesses() ([]int, error)
	// Bias is what is added to an address in a file with code that a process has mapped, to get that in the process.
	Bias(pid int, path string) (uint64, error)
	KernelSymbol(name string) (KernelSymbol, error)
	Command() string // file of the command that is recorded; "": there is none
}

// KernelFunction is a function of the kernel.
type KernelFunction struct {
	Name   string
	Params []kerneltype.Param // without From
	Result btf.Type           // nil: none
}

// KernelSymbol is a name in the kernel.
type KernelSymbol struct {
	Address uint64
	IsCode  bool
}

// BPFFunction is a function of a loaded BPF program.
type BPFFunction struct {
	ID      int
	Name    string             // of the function
	Params  []kerneltype.Param // without From; of an entry point those with which the kernel calls the program
	Context btf.Type           // of an entry point: what its context is for the kernel; nil: of another function
	Result  btf.Type           // nil: none
}

// Plan is what the definitions of a recording become.
type Plan struct {
	Types    []*tracepoint.Tracepoint
	Programs []*probe.Program
	Notes    []string
}

// MaxFunctions is how many functions a glob may match: an event names its function by a number in the event type.
const MaxFunctions = 1000

// Group is the group of the event types of probes.
const Group = "probe"

// Make plans definitions. first is the number of the first event type.
func Make(sys System, definitions []*probe.Definition, first int) (*Plan, error) {
	p := planner{sys: sys, first: first, plan: new(Plan), ids: make(map[string]int), breakpoints: make(map[int]int)}
	for i, d := range definitions {
		p.planned = i
		if err := p.definition(d); err != nil {
			return nil, err
		}
	}
	return p.plan, nil
}

type planner struct {
	sys   System
	first int
	plan  *Plan
	ids   map[string]int

	breakpoints map[int]int // of processes, of the command (0) and of the kernel

	planned int // number of the definition that is being planned
}

// addType adds an event type and returns its number.
func (p *planner) addType(def *format.EventType, places []tracepoint.Place) uint32 {
	number := p.first + len(p.plan.Types)
	p.plan.Types = append(p.plan.Types, &tracepoint.Tracepoint{
		Group: Group, Name: string(def.Name), Layout: tracepoint.Layout{Def: def, Places: places},
	})
	return uint32(number)
}

// id returns the id of a definition: its own, or what it probes. Two definitions have the same one only if they give it themselves.
func (p *planner) id(d *probe.Definition) string {
	if d.Settings.ID != "" {
		return d.Settings.ID
	}
	id := shown(&d.Legs[0])
	if len(d.Legs) > 1 {
		id += " ~~ " + shown(&d.Legs[1])
	}
	p.ids[id]++
	if n := p.ids[id]; n > 1 {
		id = fmt.Sprintf("%s #%d", id, n)
	}
	return id[:min(len(id), maxID)]
}

const maxID = 256

func shown(l *probe.Leg) string { return l.Probe.Info().Word + ":" + l.Target.Text }

// definition plans one definition.
func (p *planner) definition(d *probe.Definition) error {
	b := builder{p: p, d: d}
	if err := b.ends(); err != nil {
		return err
	}
	if err := b.values(); err != nil {
		return err
	}
	return b.finish()
}
