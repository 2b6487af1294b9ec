package probeplan

import (
	"wprof/internal/kerneltype"
	"wprof/internal/probe"
)

// findBPF finds functions of loaded BPF programs: fentry and fexit are attached to them as to functions of the kernel.
func (b *builder) findBPF(e *end) error {
	functions, err := b.p.sys.Programs(e.leg.Target.Text)
	if err != nil {
		return b.notFound(e, err)
	}
	types, err := b.p.sys.Types()
	if err != nil {
		return err
	}
	for i := range functions {
		fn := &functions[i]
		k := kernelParams{types: types}
		if !e.isReturn {
			k.params, k.ctx = bpfParams(fn)
		} else if fn.Result != nil {
			k.result = &kerneltype.Param{Name: "ret", Type: fn.Result, From: probe.From{Kind: probe.FromResult}, IsProgram: true}
		}
		v := variant{context: probe.Call, key: probe.Key{Kind: probe.KeyCall}, resolve: k.resolve, every: k.every, sites: []probe.Site{{
			Name: fn.Name, ID: fn.ID, Return: e.isReturn, Function: b.numberOf(e, fn.Name),
		}}}
		if len(b.d.Legs) > 1 {
			v.key.Kind = probe.KeyThread
		}
		e.variants = append(e.variants, v)
	}
	return nil
}

// bpfParams returns the arguments of a function. An entry point has one, its context: those of the program are there, one after the other.
func bpfParams(fn *BPFFunction) (params []kerneltype.Param, ctx *kerneltype.Param) {
	for i, p := range fn.Params {
		if fn.Context == nil {
			p.From, p.IsProgram = probe.From{Kind: probe.FromWord, Number: int64(i)}, true
		} else {
			p.From = probe.From{Kind: probe.FromWord}
			p.Steps = []probe.Step{{Kind: probe.StepAdd, Number: int64(8 * i)}, {Kind: probe.StepLoad, Size: 8}}
		}
		params = append(params, p)
	}
	if fn.Context != nil {
		ctx = &kerneltype.Param{Name: "ctx", Type: fn.Context, From: probe.From{Kind: probe.FromWord}}
	}
	return params, ctx
}
