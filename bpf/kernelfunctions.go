//go:build linux

package bpf

import (
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/internal/glob"
	"wprof/internal/kerneltype"
)

// Types returns the kernel's types.
func (p *Preloaded) Types() (*btf.Spec, error) {
	kernel, err := p.types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	return kernel, nil
}

// RawArguments returns the arguments of a raw tracepoint; false: the kernel does not have it.
func (p *Preloaded) RawArguments(name string) ([]kerneltype.Param, bool, error) {
	kernel, err := p.Types()
	if err != nil {
		return nil, false, err
	}
	var typedef *btf.Typedef
	if kernel.TypeByName(rawPrefix+name, &typedef) != nil {
		return nil, false, nil
	}
	return rawParams(kernel, typedef), true, nil
}

// rawParams are the arguments of a raw tracepoint: those of its handler after the first, which is the handler's own.
func rawParams(kernel *btf.Spec, typedef *btf.Typedef) (params []kerneltype.Param) {
	names := argumentNames(kernel, strings.TrimPrefix(typedef.Name, rawPrefix))
	for i, param := range handlerParams(typedef) {
		one := kerneltype.Param{Name: param.Name, Type: param.Type}
		if i < len(names) {
			one.Name = names[i]
		}
		params = append(params, one)
	}
	return params
}

// handlerParams are the arguments of a tracepoint's handler without its own.
func handlerParams(typedef *btf.Typedef) []btf.FuncParam {
	if pointer, ok := typedef.Type.(*btf.Pointer); ok {
		if handler, ok := pointer.Target.(*btf.FuncProto); ok && len(handler.Params) > 0 {
			return handler.Params[1:]
		}
	}
	return nil
}

// Functions returns the functions of the kernel that a pattern with * and ? matches and that its types describe, at most max.
func (p *Preloaded) Functions(pattern string, max int) (found []*btf.Func, err error) {
	kernel, err := p.Types()
	if err != nil {
		return nil, err
	}
	if !strings.ContainsAny(pattern, "*?") {
		var fn *btf.Func
		if err := kernel.TypeByName(pattern, &fn); err != nil {
			return nil, nil //nolint:nilerr // there is none
		}
		return []*btf.Func{fn}, nil
	}
	for t, err := range kernel.All() {
		if err != nil {
			return nil, fmt.Errorf("read the kernel's types: %w", err)
		}
		if fn, ok := t.(*btf.Func); ok && len(found) < max && glob.Match(pattern, []byte(fn.Name)) {
			found = append(found, fn)
		}
	}
	return found, nil
}

// HasKprobes reports whether the kernel has kprobes.
func HasKprobes() bool {
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe/type")
	return err == nil
}
