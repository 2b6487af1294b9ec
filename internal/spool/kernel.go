package spool

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"

	"wprof/format"
)

// kernelCode finds the kernel or the kernel module that an address stands in.
type kernelCode struct {
	base    uint64 // address of _text; 0: not known
	modules []kernelModule
}

// kernelModule is the address range of a module, and its name.
type kernelModule struct {
	from, to uint64
	name     string
}

// maxKernelModules is more than any kernel has.
const maxKernelModules = 1 << 14

// readKernelCode takes what the spool has copied of the kernel. What is not there, or hidden, is not known.
func readKernelCode(s *Spool) kernelCode {
	var k kernelCode
	if text := s.Kallsyms(); text != nil {
		k.base = kernelBase(text)
		text.Close()
	}
	if text := s.Modules(); text != nil {
		k.modules = kernelModules(text)
	}
	return k
}

// kernelBase is the address of _text in a text of /proc/kallsyms; it stands among the first lines of code.
func kernelBase(text io.Reader) uint64 {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Bytes()
		if !bytes.HasSuffix(line, []byte(" _text")) {
			continue
		}
		word, _, _ := bytes.Cut(line, []byte(" "))
		base, _ := strconv.ParseUint(string(word), 16, 64)
		return base
	}
	return 0
}

// kernelModules reads a text of /proc/modules: NAME SIZE USES USERS STATE ADDRESS, by address.
func kernelModules(text io.Reader) []kernelModule {
	var all []kernelModule
	lines := bufio.NewScanner(text)
	for lines.Scan() && len(all) < maxKernelModules {
		words := bytes.Fields(lines.Bytes())
		if len(words) < 6 {
			continue
		}
		size, err := strconv.ParseUint(string(words[1]), 10, 64)
		from, err2 := strconv.ParseUint(string(words[5]), 0, 64)
		if err != nil || err2 != nil || from == 0 || from+size < from {
			continue
		}
		all = append(all, kernelModule{from, from + size, "[" + string(words[0]) + "]"})
	}
	slices.SortFunc(all, func(a, b kernelModule) int { return cmp.Compare(a.from, b.from) })
	return all
}

// find is the module that an address stands in; nil: none, so it is the kernel's own.
func (k *kernelCode) find(address uint64) *kernelModule {
	i, found := slices.BinarySearchFunc(k.modules, address, func(m kernelModule, a uint64) int { return cmp.Compare(m.from, a) })
	if !found {
		i--
	}
	if i >= 0 && address < k.modules[i].to {
		return &k.modules[i]
	}
	return nil
}

// definition is the module of the stream for an address of the kernel.
func (k *kernelCode) definition(m *kernelModule) *format.Module {
	if m == nil {
		return &format.Module{Path: []byte("[kernel]"), Base: k.base, Kind: uint32(format.ModuleKind_MODULE_KERNEL)}
	}
	return &format.Module{Path: []byte(m.name), Base: m.from, Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE)}
}
