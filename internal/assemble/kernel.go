package assemble

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"

	"wprof/format"
	"wprof/internal/spool"
)

// kernelCode finds the kernel or the kernel module that an address stands in.
type kernelCode struct {
	base    uint64 // address of _text; 0: not known
	modules []kernelModule
	tracer  []codeRange
}

// codeRange is the addresses of one function.
type codeRange struct{ from, to uint64 }

// kernelModule is the address range of a module, and its name.
type kernelModule struct {
	from, to uint64
	name     string
}

// maxKernelModules is more than any kernel has.
const maxKernelModules = 1 << 14

// readKernelCode reads the kernel's symbols and modules from the spool. What is missing or hidden stays unknown.
func readKernelCode(s *spool.Spool) kernelCode {
	var k kernelCode
	if text, err := s.Kallsyms(); err == nil {
		k.readSymbols(text)
		text.Close()
	}
	if text, err := s.Modules(); err == nil {
		k.modules = kernelModules(text)
	}
	return k
}

// readSymbols takes the address of _text from a text of /proc/kallsyms, and the functions that call a kernel program or
// are probed by one. They are followed by the next symbol of the kernel's own code, which is sorted by address.
func (k *kernelCode) readSymbols(text io.Reader) {
	lines := bufio.NewScanner(text)
	open := false
	for lines.Scan() {
		line := lines.Bytes()
		isTracer := entersTracer(line)
		if !open && !isTracer && (k.base != 0 || !bytes.HasSuffix(line, []byte(" _text"))) {
			continue
		}
		word, _, _ := bytes.Cut(line, []byte(" "))
		address, err := strconv.ParseUint(string(word), 16, 64)
		if err != nil || address == 0 {
			continue
		}
		if open {
			k.tracer[len(k.tracer)-1].to = address
			open = false
		}
		if isTracer && len(k.tracer) < maxTracerCode {
			k.tracer = append(k.tracer, codeRange{address, address + 1})
			open = true
		} else if k.base == 0 && bytes.HasSuffix(line, []byte(" _text")) {
			k.base = address
		}
	}
}

const (
	maxTracerCode = 256
	// maxTracerFrames is the most frames that can be the recorder's own.
	maxTracerFrames = 12
)

// entersTracer reports whether a line of /proc/kallsyms is of the kernel's own function from which a kernel program is
// called: of a tracepoint, or the one that is probed.
func entersTracer(line []byte) bool {
	const name = len("ffffffff00000000 t ")
	if len(line) <= name || line[name-2]|0x20 != 't' {
		return false
	}
	switch line[name] {
	case '_':
		return bytes.HasPrefix(line[name:], []byte("__traceiter_sched_")) || bytes.HasPrefix(line[name:], []byte("__bpf_trace_sched_"))
	case 'b':
		return bytes.HasPrefix(line[name:], []byte("bpf_trace_run"))
	case 'f':
		return bytes.HasPrefix(line[name:], []byte("finish_task_switch"))
	}
	return false
}

// tracerFrames is how many of the innermost frames are the recorder's own: those up to the last one of a function that enters
// it. Such a function further out, which was interrupted, is not one of them.
func (k *kernelCode) tracerFrames(addresses []uint64) (n int) {
	for i, address := range addresses[:min(len(addresses), maxTracerFrames)] {
		if i > 0 {
			address--
		}
		isTracer := slices.ContainsFunc(k.tracer, func(r codeRange) bool { return address >= r.from && address < r.to })
		if !isTracer && n > 0 {
			return n
		}
		if isTracer {
			n = i + 1
		}
	}
	return n
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
