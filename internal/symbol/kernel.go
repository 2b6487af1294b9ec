package symbol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// errHidden is the error for a list of kernel symbols without addresses.
var errHidden = errors.New("read the kernel's symbols: all addresses are zero, because kernel.kptr_restrict hides them " +
	"from a process without CAP_SYSLOG")

const (
	maxKernelSymbols = 2 << 20
	maxKernelNames   = 48 << 20
	maxKernelModules = 64 << 10
	kernelPage       = 4096 // a part whose end is unknown ends with its last symbol's page
	kernelItself     = "kernel"
	bpfPrograms      = "[bpf]"
)

// KernelModule is a part of the kernel's code.
type KernelModule struct {
	Name string // without brackets; kernelItself or a module
	Base uint64 // kernel: _text, else _stext; module: where its code begins
	End  uint64
}

// Kernel is the functions of a kernel and of its modules. Addresses in its tables count from their module's base, so
// that they are valid for another boot of the same kernel, at other addresses.
type Kernel struct {
	modules map[string]*kernelPart
}

type kernelPart struct {
	KernelModule
	table *Table
}

// ParseModules reads /proc/modules. With an error it also returns the modules before it.
func ParseModules(r io.Reader) ([]KernelModule, error) {
	var list []KernelModule
	err := eachLine(r, func(line []byte) error {
		fields := bytes.Fields(line) // name size users by state address
		if len(fields) < 6 || len(list) >= maxKernelModules {
			return nil
		}
		size, err := strconv.ParseUint(string(fields[1]), 10, 64)
		base, ok := parseHex(fields[5])
		if err == nil && ok && base != 0 && base+size >= base {
			list = append(list, KernelModule{Name: string(fields[0]), Base: base, End: base + size})
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("read the kernel's modules: %w", err)
	}
	return list, err
}

// parseKallsyms parses /proc/kallsyms. The kernel ends at _etext, a module at its end in the list of modules, or, if it is
// not on the list, with the page of its last function. Of several names of one address the first is used: the kernel sorts them so
// that this is the one of its own messages.
func parseKallsyms(r io.Reader, modules []KernelModule) (*Kernel, error) {
	list := &kernelList{parts: make(map[string]*kernelGather)}
	if err := eachLine(r, list.line); err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	if list.count == 0 {
		return nil, errNoSymbols
	}
	if !list.shown {
		return nil, errHidden
	}
	known := make(map[string]KernelModule, len(modules))
	for _, m := range modules {
		known[m.Name] = m
	}
	k := &Kernel{modules: make(map[string]*kernelPart, len(list.parts))}
	for name, gather := range list.parts {
		if part := gather.part(name, known); part != nil {
			k.modules[name] = part
		}
	}
	return k, nil
}

// Table returns the functions of one part of the kernel, with addresses relative to its base; nil if it has none.
func (k *Kernel) Table(name string) *Table {
	part := k.modules[withoutBrackets(name)]
	if part == nil {
		return nil
	}
	return part.table
}

// withoutBrackets removes all brackets, so that a second call changes nothing.
func withoutBrackets[T string | []byte](name T) T {
	for n := len(name); n > 2 && name[0] == '[' && name[n-1] == ']'; n = len(name) {
		name = name[1 : n-1]
	}
	return name
}
