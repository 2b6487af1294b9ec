//go:build linux

package bpf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/internal/kerneltype"
	"wprof/internal/tracepoint"
)

const rawPrefix = "btf_trace_"

// RawTracepoints returns the names of all raw tracepoints, sorted. Those of kernel modules are not among them.
func (p *Preloaded) RawTracepoints() ([]string, error) {
	kernel, err := p.Types()
	if err != nil {
		return nil, err
	}
	var names []string
	for t, err := range kernel.All() {
		if err != nil {
			return nil, fmt.Errorf("read the kernel's types: %w", err)
		}
		if name, ok := strings.CutPrefix(t.TypeName(), rawPrefix); ok {
			if _, ok := t.(*btf.Typedef); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// RawTracepoint describes a raw tracepoint by the types of its arguments.
func (p *Preloaded) RawTracepoint(group, name string) (*tracepoint.Tracepoint, error) {
	kernel, err := p.Types()
	if err != nil {
		return nil, err
	}
	var typedef *btf.Typedef
	if err := kernel.TypeByName(rawPrefix+name, &typedef); err != nil {
		return nil, fmt.Errorf("find the raw tracepoint %s: %w", name, err)
	}
	var arguments []tracepoint.Argument
	for _, param := range rawParams(kernel, typedef) {
		arguments = append(arguments, argumentOf(param))
	}
	return tracepoint.Raw(group, name, arguments)
}

// argumentNames returns the names of a tracepoint's arguments, which the types of handlers do not have, from the function that calls them.
func argumentNames(kernel *btf.Spec, name string) (names []string) {
	var caller *btf.Func
	if kernel.TypeByName("__traceiter_"+name, &caller) != nil {
		return nil
	}
	if proto, ok := caller.Type.(*btf.FuncProto); ok && len(proto.Params) > 0 {
		for _, param := range proto.Params[1:] {
			names = append(names, param.Name)
		}
	}
	return names
}

// argumentOf describes an argument of a tracepoint.
func argumentOf(param kerneltype.Param) tracepoint.Argument {
	a := tracepoint.Argument{Name: param.Name}
	switch t := btf.UnderlyingType(param.Type).(type) {
	case *btf.Int:
		a.Size, a.Signed, a.Bool = int(t.Size), t.Encoding&btf.Signed != 0, t.Encoding&btf.Bool != 0
	case *btf.Enum:
		a.Size, a.Signed, a.Names = int(t.Size), t.Signed, kerneltype.EnumNames(t)
	case *btf.Pointer:
		target, ok := btf.UnderlyingType(t.Target).(*btf.Int)
		a.Pointer, a.String = true, ok && target.Size == 1 && isChar(t.Target)
	default:
		if size, err := btf.Sizeof(t); err == nil {
			a.Bytes = size
		}
	}
	return a
}

// isChar reports whether a type is char, which strings consist of, and not u8.
func isChar(t btf.Type) bool {
	i, ok := btf.As[*btf.Int](t)
	return ok && i.Name == "char"
}
