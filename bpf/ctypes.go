//go:build linux

package bpf

import (
	"fmt"

	"github.com/cilium/ebpf/btf"

	"wprof/format"
	"wprof/internal/kerneltype"
	"wprof/internal/tracepoint"
)

// cTypes are the kernel's types of C, by its BTF.
type cTypes struct {
	kernel    *btf.Spec
	constants map[string]constant // nil: not read yet
}

type constant struct {
	value     int64
	ambiguous bool // enums differ in it
}

// CTypes returns the kernel's types for [tracepoint.Parse]. It is not safe for concurrent use.
func (p *Preloaded) CTypes() (tracepoint.Types, error) {
	kernel, err := p.types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w", err)
	}
	return &cTypes{kernel: kernel}, nil
}

func (c *cTypes) Enum(name string) []*format.EnumName {
	var e *btf.Enum
	if c.kernel.TypeByName(name, &e) != nil {
		return nil
	}
	return kerneltype.EnumNames(e)
}

// Constant returns the value of an enum's constant. The first call reads all types.
func (c *cTypes) Constant(name string) (int64, bool) {
	if c.constants == nil {
		c.readConstants()
	}
	of, ok := c.constants[name]
	return of.value, ok && !of.ambiguous
}

func (c *cTypes) readConstants() {
	c.constants = make(map[string]constant)
	for t, err := range c.kernel.All() {
		if err != nil {
			return
		}
		e, ok := t.(*btf.Enum)
		if !ok {
			continue
		}
		for _, v := range e.Values {
			before, known := c.constants[v.Name]
			c.constants[v.Name] = constant{int64(v.Value), known && (before.ambiguous || before.value != int64(v.Value))}
		}
	}
}
