//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"wprof/internal/proc"
	"wprof/internal/sources"
)

const kernelBTF = "/sys/kernel/btf/vmlinux"

// Preloaded is what [Load] reads whatever the options are.
type Preloaded struct {
	types *btf.Cache           // of the kernel
	spec  *ebpf.CollectionSpec // of all programs

	// Programs of others that are to be probed. They are kept until then, because their owners may end meanwhile.
	targets map[int]*ebpf.Program
}

// hold keeps a program of others until [Load] has probed it.
func (p *Preloaded) hold(id int, program *ebpf.Program) error {
	if p.targets[id] != nil {
		return nil
	}
	kept, err := program.Clone()
	if err != nil {
		return fmt.Errorf("keep BPF program %d: %w", id, err)
	}
	if p.targets == nil {
		p.targets = make(map[int]*ebpf.Program)
	}
	p.targets[id] = kept
	return nil
}

// Release closes what was kept for [Load], which does it too.
func (p *Preloaded) Release() {
	for _, program := range p.targets {
		_ = program.Close()
	}
	p.targets = nil
}

// Check returns an error if the programs cannot be loaded here. It loads none; what it has read can be passed on as
// [Options.Preloaded].
func Check() (*Preloaded, error) { return preload(allTracepoints()) }

// preload reads the kernel's types and the programs at once: reading them takes a third of the time until the window opens.
func preload(tracepoints []string) (*Preloaded, error) {
	if err := checkCapabilities(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(kernelBTF); errors.Is(err, fs.ErrNotExist) {
		return nil, unsupported(err, "this kernel has no type information (%s): it must be built with CONFIG_DEBUG_INFO_BTF", kernelBTF)
	}
	p := &Preloaded{types: btf.NewCache()}
	var specErr error
	var reading sync.WaitGroup
	reading.Go(func() { p.spec, specErr = loadWprof() })
	err := checkTracepoints(p.types, tracepoints)
	reading.Wait()
	if err != nil {
		return nil, err
	}
	if specErr != nil {
		return nil, fmt.Errorf("read the kernel programs: %w", specErr)
	}
	return p, nil
}

func checkTracepoints(types *btf.Cache, names []string) error {
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's type information from %s: %w", kernelBTF, err)
	}
	for _, name := range names {
		if err := checkTracepoint(kernel, name); err != nil {
			return err
		}
	}
	return nil
}

func checkCapabilities() error {
	have, err := proc.ReadCapabilities()
	if err != nil {
		return err
	}
	var missing []string
	for _, c := range []proc.Capability{proc.CapBPF, proc.CapPerfmon} {
		if !have.Has(c) {
			missing = append(missing, c.String())
		}
	}
	if missing == nil {
		return nil
	}
	return unsupported(os.ErrPermission, "recording needs %s: run it as root", strings.Join(missing, " and "))
}

func checkTracepoint(kernel *btf.Spec, name string) error {
	var typedef *btf.Typedef
	if err := kernel.TypeByName("btf_trace_"+name, &typedef); err != nil {
		if feature := sources.FeatureOf(name); feature != "" {
			return unsupported(err, "this kernel does not have the tracepoint %s, which -f %s needs", name, feature)
		}
		since := "6.1"
		if name == "sched_exit_tp" {
			since = "6.15"
		}
		return unsupported(err, "this kernel lacks the tracepoint %s: Linux %s or later is needed", name, since)
	}
	if name == "sched_switch" && parameters(typedef) < 5 {
		return unsupported(nil, "this kernel is too old: its sched_switch does not report the previous state; Linux 6.1 or later is needed")
	}
	return nil
}

// parameters returns the number of parameters of a tracepoint's handler, including the context.
func parameters(typedef *btf.Typedef) int {
	pointer, ok := typedef.Type.(*btf.Pointer)
	if !ok {
		return 0
	}
	handler, ok := pointer.Target.(*btf.FuncProto)
	if !ok {
		return 0
	}
	return len(handler.Params)
}
