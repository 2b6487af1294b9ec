package probeplan

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/tracepoint"
	"wprof/internal/usercode"
)

// find finds the places of an end.
func (b *builder) find(e *end) error {
	switch e.leg.Probe {
	case probe.Tracepoint:
		return b.findTracepoint(e)
	case probe.RawTracepoint:
		return b.findRawTracepoint(e)
	case probe.UserEntry, probe.UserReturn, probe.UserSpan, probe.USDT:
		return b.findUser(e)
	case probe.KernelEntry, probe.KernelReturn, probe.KernelSpan:
		return b.findKernel(e)
	case probe.Breakpoint:
		return b.findWatched(e)
	}
	return b.findBPF(e)
}

// notFound points at the target.
func (b *builder) notFound(e *end, err error) error {
	var missing *usercode.NotFound
	if errors.As(err, &missing) {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), missing.Near, "%s", err)
	}
	return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "%s", err)
}

func (b *builder) findTracepoint(e *end) error {
	category, name, _ := strings.Cut(e.leg.Target.Text, ":")
	t, err := b.p.sys.Tracepoint(category, name)
	if err != nil {
		return b.notFound(e, err)
	}
	r := recordFields{t}
	e.variants = []variant{{
		context: probe.Record, sites: []probe.Site{{Name: t.FullName(), ID: t.ID}}, resolve: r.resolve, every: r.every,
	}}
	return nil
}

// recordFields are the fields of a tracepoint's record.
type recordFields struct{ *tracepoint.Tracepoint }

func (r recordFields) every() (all []probe.Arg) {
	for i, f := range r.Def.Fields {
		if _, err := r.read(i); err == nil {
			all = append(all, probe.Arg{Base: probe.BaseName, Name: string(f.Name)})
		}
	}
	return all
}

func (r recordFields) resolve(a *probe.Arg) (resolved, error) {
	at := a.Index
	if a.Base == probe.BaseName {
		at = -1
		var names []string
		for i, f := range r.Def.Fields {
			names = append(names, string(f.Name))
			if string(f.Name) == a.Name {
				at = i
			}
		}
		if at < 0 {
			return resolved{}, &usercode.NotFound{What: "field", Name: a.Name, Near: orAll(cli.Nearest(a.Name, names), names)}
		}
	}
	switch {
	case a.Base == probe.BaseContext || a.Base == probe.BaseReturn:
		return resolved{}, errors.New("a tracepoint has fields only; raw_tp: has the arguments that the kernel passes")
	case at >= len(r.Def.Fields):
		return resolved{}, fmt.Errorf("the tracepoint has %d fields, numbered from 0", len(r.Def.Fields))
	case len(a.Access) > 0:
		return resolved{}, errors.New("fields of tracepoints have no types that could be followed; use raw_tp: for that")
	}
	read, err := r.read(at)
	if err != nil {
		return resolved{}, err
	}
	read.Leaf, err = read.Leaf.WithType(a.Type, r.isSystemCall())
	return resolved{read, string(r.Def.Fields[at].Name)}, err
}

// orAll returns near names; none: the first of all.
func orAll(near, all []string) []string {
	if len(near) > 0 {
		return near
	}
	return all[:min(len(all), 6)]
}

// read plans the reading of a field.
func (r recordFields) read(i int) (probe.Read, error) {
	f, p := r.Def.Fields[i], &r.Places[i]
	offset := p.Offset + r.From // places are in the copy of the record
	switch {
	case f.Is(format.ValueType_VALUE_STRING) && p.Kind == tracepoint.Fixed:
		return probe.Read{
			From: probe.From{Kind: probe.FromContext}, Steps: []probe.Step{{Kind: probe.StepAdd, Number: int64(offset)}},
			Leaf: probe.Leaf{Kind: probe.LeafArray, Size: min(p.Size*max(p.Count, 1), probe.MaxString)},
		}, nil
	case f.Is(format.ValueType_VALUE_STRING):
		return probe.Read{
			From: probe.From{Kind: probe.FromText, Offset: offset, Signed: p.Kind == tracepoint.RelLoc}, Leaf: probe.Leaf{Kind: probe.LeafString},
		}, nil
	case (f.List || f.Is(format.ValueType_VALUE_BYTES)) && !isFlags(f, p):
		return probe.Read{}, fmt.Errorf("%s is a list of values, which a probe does not record; -f tp=%s does", f.Name, r.FullName())
	}
	leaf := probe.Leaf{Size: p.Size, Signed: p.Signed, Bool: f.Is(format.ValueType_VALUE_BOOL)}
	if !f.List {
		leaf.Names = f.Names
	}
	leaf.Hex = f.Hint == uint32(format.ValueHint_HINT_HEX)
	return probe.Read{From: probe.From{Kind: probe.FromRecord, Offset: offset, Size: p.Size, Signed: p.Signed}, Leaf: leaf}, nil
}

// isFlags reports whether a field is a number whose bits have names.
func isFlags(f *format.TypeField, p *tracepoint.Place) bool {
	return f.List && f.Is(format.ValueType_VALUE_ENUM) && p.Count == 0 && p.Kind == tracepoint.Fixed
}

// isSystemCall reports whether addresses in the record are those of programs.
func (r recordFields) isSystemCall() bool { return strings.HasPrefix(r.FullName(), "syscalls:") }

func (b *builder) findRawTracepoint(e *end) error {
	params, err := b.p.sys.RawTracepoint(e.leg.Target.Text)
	if err != nil {
		return b.notFound(e, err)
	}
	types, err := b.p.sys.Types()
	if err != nil {
		return err
	}
	for i := range params {
		params[i].From = probe.From{Kind: probe.FromWord, Number: int64(i)}
	}
	k := kernelParams{types: types, params: params}
	e.variants = []variant{{context: probe.Words, sites: []probe.Site{{Name: e.leg.Target.Text}}, resolve: k.resolve, every: k.every}}
	return nil
}

// kernelParams are arguments with types of the kernel.
type kernelParams struct {
	types  *btf.Spec
	params []kerneltype.Param
	result *kerneltype.Param // nil: there is none
	ctx    *kerneltype.Param // of arg:ctx; nil: the program's own
}

func (k kernelParams) every() (all []probe.Arg) {
	for i := range k.params {
		a := probe.Arg{Base: probe.BaseName, Name: k.params[i].Name}
		if a.Name == "" {
			a = probe.Arg{Base: probe.BaseIndex, Index: i}
		}
		if _, err := k.resolve(&a); err == nil {
			all = append(all, a)
		}
	}
	if k.result != nil {
		all = append(all, probe.Arg{Base: probe.BaseReturn})
	}
	return all
}

func (k kernelParams) resolve(a *probe.Arg) (resolved, error) {
	p, err := k.param(a)
	if err != nil {
		return resolved{}, err
	}
	read, err := kerneltype.Resolve(k.types, *p, a)
	return resolved{read, p.Name}, err
}

func (k kernelParams) param(a *probe.Arg) (*kerneltype.Param, error) {
	var names []string
	for i := range k.params {
		names = append(names, cmp.Or(k.params[i].Name, strconv.Itoa(i)))
		if a.Base == probe.BaseIndex && i == a.Index || a.Base == probe.BaseName && a.Name == k.params[i].Name {
			return &k.params[i], nil
		}
	}
	switch {
	case a.Base == probe.BaseReturn && k.result != nil:
		return k.result, nil
	case a.Base == probe.BaseReturn:
		return nil, errors.New("it returns nothing")
	case a.Base == probe.BaseContext && k.ctx != nil:
		return k.ctx, nil
	case a.Base == probe.BaseContext:
		return &kerneltype.Param{Name: "ctx", From: probe.From{Kind: probe.FromContext}, Type: &btf.Pointer{Target: &btf.Int{Name: "u64", Size: 8}}}, nil
	case a.Base == probe.BaseIndex:
		return nil, fmt.Errorf("it has %d arguments, numbered from 0", len(k.params))
	}
	return nil, &usercode.NotFound{What: "argument", Name: a.Name, Near: orAll(cli.Nearest(a.Name, names), names)}
}
