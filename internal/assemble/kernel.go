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
	"wprof/internal/symbol"
)

// kernelCode finds the kernel or the kernel module that an address stands in.
type kernelCode struct {
	base    uint64                // address of _text; 0: not known
	buildID []byte                // nil: not known
	modules []symbol.KernelModule // by address
	tracer  []codeRange
}

// codeRange is the addresses of one function.
type codeRange struct{ from, to uint64 }

// readKernelCode reads the kernel's symbols and modules from the spool. What is missing or hidden stays unknown.
func readKernelCode(s *spool.Spool) kernelCode {
	k := kernelCode{buildID: s.KernelBuildID()}
	if text, err := s.Kallsyms(); err == nil {
		k.readSymbols(text)
		text.Close()
	}
	if text, err := s.Modules(); err == nil {
		k.modules, _ = symbol.ParseModules(text)
		slices.SortFunc(k.modules, func(a, b symbol.KernelModule) int { return cmp.Compare(a.Base, b.Base) })
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

// find is the module that an address stands in; nil: none, so it is the kernel's own.
func (k *kernelCode) find(address uint64) *symbol.KernelModule {
	i, found := slices.BinarySearchFunc(k.modules, address, func(m symbol.KernelModule, a uint64) int { return cmp.Compare(m.Base, a) })
	if !found {
		i--
	}
	if i >= 0 && address < k.modules[i].End {
		return &k.modules[i]
	}
	return nil
}

// definition is the module of the stream for an address of the kernel.
func (k *kernelCode) definition(m *symbol.KernelModule) *format.Module {
	if m == nil {
		kernel := &format.Module{Path: []byte("[kernel]"), Base: k.base, Kind: uint32(format.ModuleKind_MODULE_KERNEL)}
		if k.base != 0 { // without it, offsets are not those of the build
			kernel.BuildId = k.buildID
		}
		return kernel
	}
	return &format.Module{Path: []byte("[" + m.Name + "]"), Base: m.Base, Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE)}
}
