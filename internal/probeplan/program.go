package probeplan

import (
	"reflect"
	"slices"
	"strings"

	"wprof/internal/probe"
)

// program makes the program of a variant.
func (b *builder) program(e *end, variant int, l layout, types [2]uint32) {
	v, s := &e.variants[variant], &b.d.Settings
	p := &probe.Program{
		Context: v.context, Role: e.role, Sites: v.sites, Definition: b.p.planned, Type: types[0], EntryType: types[1], OneOf: max(1, s.Sample), PerSecond: s.Limit, Min: s.Min,
		Counts: b.counts(), CountsBuckets: b.d.Settings.Hist != nil || b.d.Settings.HistDuration, CountsDuration: b.d.Settings.HistDuration && e.role == probe.End,
		Stack: l.stack && e.role != probe.End, Fixed: l.fixed, Unread: l.unread, BeganBy: l.beganBy, Key: v.key, Watch: v.watch,
	}
	isCall := p.Key.Kind == probe.KeyFrame || p.Key.Kind == probe.KeyGoroutine
	p.Key.PerSite = isCall && len(b.functions) > 1
	if l.site >= 0 && e.role != probe.End {
		p.Values = append(p.Values, probe.Value{
			Read: probe.Read{From: probe.From{Kind: probe.FromSite, Size: 8}, Leaf: probe.Leaf{Size: siteBytes}}, Place: l.site,
		})
	}
	if comm := e.leg.Comm.Text; comm != "" && e.role != probe.End {
		p.Values = append(p.Values, probe.Value{
			Read: probe.Read{From: probe.From{Kind: probe.FromComm}, Leaf: probe.Leaf{Kind: probe.LeafString}}, Place: -1,
			Conditions: []probe.Test{{Glob: comm}},
		})
	}
	for i := range b.tests {
		if f := b.tests[i]; f.end == e {
			p.Values = append(p.Values, f.value(variant, -1))
		}
	}
	if f := b.amount; f != nil && f.end == e {
		v := f.value(variant, -1)
		v.IsAmount = true
		p.Values = append(p.Values, v)
	}
	for i := range b.fields {
		f := &b.fields[i]
		if f.end == e {
			p.Values = append(p.Values, f.value(variant, f.place))
		}
		if f.end.role == probe.End {
			p.AtEnd |= 1 << f.bit
		}
	}
	b.p.plan.add(p)
}

// value is what a program does with a field.
func (f *field) value(variant, place int) probe.Value {
	v := probe.Value{Read: f.reads[variant].read, Place: place, Bit: f.bit}
	for i := range f.tests {
		v.Conditions = append(v.Conditions, testOf(&f.tests[i], v.Read.Leaf.Signed))
	}
	return v
}

func testOf(c *probe.Condition, signed bool) probe.Test {
	t := probe.Test{Op: c.Op, Number: c.Number, Signed: signed && !c.Unsigned}
	if c.IsText {
		t.Glob, t.Not = c.Text, c.Op == probe.OpNotEqual
		if c.Op != probe.OpGlob {
			t.Glob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(c.Text)
		}
	}
	return t
}

// add adds a program, or its places to a program that reads their values alike.
func (plan *Plan) add(p *probe.Program) {
	same := -1
	if p.Context != probe.Call { // those are attached to one function each
		same = slices.IndexFunc(plan.Programs, func(known *probe.Program) bool {
			a, b := *known, *p
			a.Sites, b.Sites = nil, nil
			return isSameTarget(known.Sites[0], p.Sites[0]) && reflect.DeepEqual(a, b)
		})
	}
	if same < 0 {
		plan.Programs = append(plan.Programs, p)
		return
	}
	plan.Programs[same].Sites = append(plan.Programs[same].Sites, p.Sites...)
}

func isSameTarget(a, b probe.Site) bool { return (a.Path == "") == (b.Path == "") }
