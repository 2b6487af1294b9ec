package probeplan

import (
	"errors"

	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// findKernel finds functions of the kernel: by kprobes where the kernel has them, else by fentry and fexit.
func (b *builder) findKernel(e *end) error {
	target := targetOf(e.leg.Target.Text)
	functions, err := b.p.sys.KernelFunctions(target.name)
	if err != nil {
		return b.notFound(e, err)
	}
	if len(functions) > MaxFunctions {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "these are %d functions, and the limit is %d", len(functions), MaxFunctions)
	}
	types, err := b.p.sys.Types()
	if err != nil {
		return err
	}
	kprobes := b.p.sys.HasKprobes()
	if target.offset > 0 && !kprobes {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "only kprobes can be put behind the entry of a function, and this kernel has none")
	}
	for i := range functions {
		fn := &functions[i]
		k := kernelParams{types: types}
		v := variant{context: probe.Call, sites: []probe.Site{{
			Name: fn.Name, Offset: target.offset, Return: e.isReturn, Function: b.numberOf(e, fn.Name),
		}}}
		v.key.Kind = probe.KeyCall
		if kprobes {
			v.context, v.key.Kind = probe.Registers, probe.KeyFrame
		}
		if len(b.d.Legs) > 1 {
			v.key.Kind = probe.KeyThread
		}
		for n, p := range fn.Params {
			if p.From, err = b.kernelArgument(kprobes, n, false); err == nil && !(kprobes && e.isReturn) && target.offset == 0 {
				k.params = append(k.params, p)
			}
		}
		if e.isReturn && fn.Result != nil {
			result := kerneltype.Param{Name: "ret", Type: fn.Result}
			if result.From, err = b.kernelArgument(kprobes, len(fn.Params), true); err != nil {
				return err
			}
			k.result = &result
		}
		v.resolve, v.every = k.resolve, k.every
		e.variants = append(e.variants, v)
	}
	return nil
}

// kernelArgument returns where an argument is: in a register, or in the words of fentry.
func (b *builder) kernelArgument(kprobes bool, n int, isResult bool) (probe.From, error) {
	if !kprobes && isResult {
		return probe.From{Kind: probe.FromResult}, nil
	}
	if !kprobes {
		return probe.From{Kind: probe.FromWord, Number: int64(n)}, nil
	}
	if isResult {
		n = 0
	}
	read, err := usercode.Argument(b.p.sys.Machine(), n, usercode.C, isResult)
	if err != nil {
		return probe.From{}, err
	}
	if len(read.Steps) > 0 {
		return probe.From{}, errOnStack
	}
	return read.From, nil
}

// errOnStack: there are no more registers for arguments.
var errOnStack = errors.New("it is on the stack")
