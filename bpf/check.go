//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/internal/proc"
)

const kernelBTF = "/sys/kernel/btf/vmlinux"

// Check returns an error if the programs cannot be loaded here. It loads none.
func Check() error { return check(btf.NewCache(), allTracepoints()) }

func check(types *btf.Cache, tracepoints []string) error {
	if err := checkCapabilities(); err != nil {
		return err
	}
	if _, err := os.Stat(kernelBTF); errors.Is(err, fs.ErrNotExist) {
		return unsupported(err, "this kernel has no type information (%s): it must be built with CONFIG_DEBUG_INFO_BTF", kernelBTF)
	}
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's type information from %s: %w", kernelBTF, err)
	}
	for _, name := range tracepoints {
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
