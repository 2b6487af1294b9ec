package probeplan

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// builder builds the programs and event types of a definition.
type builder struct {
	p         *planner
	d         *probe.Definition
	all       []*end
	functions []string // of a glob; nil: one function
	fields    []field
	tests     []*field // values that are only compared
	amount    *field   // that is added up; nil: none
}

// end is an instant, or one end of a span.
type end struct {
	role     probe.Role
	leg      *probe.Leg
	isReturn bool // of a function: only its result is known
	variants []variant
}

// variant are places where values are read alike.
type variant struct {
	context probe.Context
	key     probe.Key
	sites   []probe.Site
	watch   probe.Watching
	resolve func(*probe.Arg) (resolved, error)
	every   func() []probe.Arg // arg:*
}

// resolved is what is known of an argument.
type resolved struct {
	read probe.Read
	name string
}

// field is a value of the event type.
type field struct {
	end    *end
	arg    probe.Arg
	name   string
	reads  []resolved // by variant of its end
	joined probe.Leaf // of all variants
	tests  []probe.Condition
	place  int
	bit    int
}

// ends finds the places of the definition.
func (b *builder) ends() error {
	first := &b.d.Legs[0]
	if len(b.d.Legs) == 1 && !first.Probe.Info().Span {
		b.all = []*end{{role: probe.Instant, leg: first, isReturn: onlyReturns(first.Probe)}}
	} else {
		second := first
		if len(b.d.Legs) > 1 {
			second = &b.d.Legs[1]
		}
		isFunction := len(b.d.Legs) == 1
		b.all = []*end{
			{role: probe.Begin, leg: first, isReturn: !isFunction && onlyReturns(first.Probe)},
			{role: probe.End, leg: second, isReturn: isFunction || onlyReturns(second.Probe)},
		}
	}
	for _, e := range b.all {
		if err := b.find(e); err != nil {
			return err
		}
	}
	return nil
}

func onlyReturns(k probe.ProbeKind) bool {
	row := k.Info()
	return row.Return && !row.Entry
}

// isSpan reports whether the definition is a span.
func (b *builder) isSpan() bool { return len(b.all) > 1 }

// belongs reports whether an argument is read at an end.
func (b *builder) belongs(e *end, a *probe.Arg) bool {
	if len(b.d.Legs) > 1 || !b.isSpan() {
		return true
	}
	return (a.Base == probe.BaseReturn) == e.isReturn
}

// values resolves arguments, conditions and the key.
func (b *builder) values() error {
	if err := b.recorded(); err != nil {
		return err
	}
	for i := range b.d.Settings.If {
		if err := b.condition(&b.d.Settings.If[i]); err != nil {
			return err
		}
	}
	return b.keys()
}

// recorded resolves what events consist of.
func (b *builder) recorded() error {
	if b.counts() {
		return b.counted()
	}
	for number, e := range b.all {
		for i := range e.leg.Args {
			if b.belongs(e, &e.leg.Args[i]) {
				if err := b.addField(e, e.leg.Args[i], true); err != nil {
					return err
				}
			}
		}
		most := b.mostValues()
		if number == 0 && len(b.d.Legs) > 1 {
			most -= len(b.d.Legs[1].Args) // those of the other end follow
		}
		if err := b.addEvery(e, most); err != nil {
			return err
		}
	}
	return b.checkSize()
}

// checkSize refuses more values than an event can have.
func (b *builder) checkSize() error {
	if most := b.mostValues(); len(b.fields) > most {
		return b.d.Errorf(0, 0, nil, "these are %d arguments, and an event has %d at most", len(b.fields), most)
	}
	texts := 0
	for i := range b.fields {
		if b.fields[i].leaf().Kind != probe.LeafNumber {
			texts++
		}
	}
	if texts > probe.MaxArgs {
		return b.d.Errorf(0, 0, nil, "these are %d texts, and an event has %d at most", texts, probe.MaxArgs)
	}
	return nil
}

// mostValues is how many values an event may have.
func (b *builder) mostValues() int {
	for i := range b.d.Legs {
		if leg := &b.d.Legs[i]; leg.Probe == probe.Breakpoint && leg.All {
			return probe.MaxHitValues
		}
	}
	return probe.MaxArgs
}

// addEvery adds all arguments of arg:* that no other parameter names, as long as there are less than most values.
func (b *builder) addEvery(e *end, most int) error {
	if !e.leg.All || len(e.variants) == 0 || e.variants[0].every == nil {
		return nil
	}
	for _, a := range e.variants[0].every() {
		if len(b.fields) >= most {
			break
		}
		a.At, a.Leg = e.leg.Target.At, b.legOf(e)
		if !b.belongs(e, &a) || b.has(a.DisplayName(0)) {
			continue
		}
		if err := b.addField(e, a, true); err != nil {
			var problem *probe.Error
			if !errors.As(err, &problem) {
				return err
			}
		}
	}
	return nil
}

// legOf is the number of the leg of an end.
func (b *builder) legOf(e *end) int {
	if len(b.d.Legs) > 1 && e.role == probe.End {
		return 1
	}
	return 0
}

func (b *builder) has(name string) bool {
	return slices.ContainsFunc(b.fields, func(f field) bool { return f.name == name })
}

// addField adds a value of an end.
func (b *builder) addField(e *end, a probe.Arg, recorded bool) error {
	f := field{end: e, arg: a}
	for i := range e.variants {
		r, err := e.variants[i].read(&a)
		if err != nil {
			return b.explain(&a, err)
		}
		f.reads = append(f.reads, r)
	}
	if !f.join() {
		return b.d.Errorf(a.At, 0, nil, "it is a text in some of these places, and a number in others, or numbers of different kinds; probe them one by one")
	}
	if err := b.checkDisplay(&f); err != nil {
		return err
	}
	if !recorded {
		b.tests = append(b.tests, &f)
		return nil
	}
	f.name = a.DisplayName(len(b.fields))
	if a.Display.Name == "" && len(f.reads) > 0 && f.reads[0].name != "" && a.Base == probe.BaseIndex && len(a.Access) == 0 {
		f.name = f.reads[0].name
	}
	for b.has(f.name) {
		f.name += "_end"
	}
	b.fields = append(b.fields, f)
	return nil
}

// join makes one type of those that the value has in the variants; false: there is none.
func (f *field) join() bool {
	if len(f.reads) == 0 {
		return true
	}
	f.joined = f.reads[0].read.Leaf
	of, isMixed := &f.joined, false
	for i := range f.reads {
		leaf := &f.reads[i].read.Leaf
		isText := leaf.Kind != probe.LeafNumber
		if isText != (of.Kind != probe.LeafNumber) || leaf.Float != of.Float || leaf.Float && leaf.Size != of.Size {
			return false
		}
		isMixed = isMixed || leaf.Signed != of.Signed
		of.Size = max(of.Size, leaf.Size)
		of.Bool, of.Hex = of.Bool && leaf.Bool, of.Hex && leaf.Hex
		if !reflect.DeepEqual(leaf.Names, of.Names) {
			of.Names = nil
		}
	}
	if of.Kind != probe.LeafNumber {
		return true
	}
	if isMixed {
		of.Size, of.Signed = 8, true
	}
	for i := range f.reads {
		if leaf := &f.reads[i].read.Leaf; leaf.Size < of.Size {
			if leaf.Bits == 0 {
				leaf.Bits = 8 * leaf.Size // it is extended as its own type says
			}
			leaf.Size = of.Size
		}
	}
	return true
}

func (b *builder) checkDisplay(f *field) error {
	d, leaf := &f.arg.Display, f.leaf()
	isText := leaf.Kind != probe.LeafNumber
	switch {
	case isText && (d.Hex || d.Enum || len(d.Names) > 0 || d.Counter || d.Hist):
		return b.d.Errorf(f.arg.At, 0, nil, "it is a text, and /x, /map, /enum, /counter and /hist are for numbers")
	case leaf.Float && (d.Hex || d.Enum || len(d.Names) > 0):
		return b.d.Errorf(f.arg.At, 0, nil, "it is a floating-point number, and /x, /map and /enum are for whole numbers")
	case d.Enum && len(leaf.Names) == 0:
		return b.d.Errorf(f.arg.At, 0, nil, "its type is no enumeration, so that /enum has no names for it")
	}
	return nil
}

// leaf is what the value is in events.
func (f *field) leaf() *probe.Leaf {
	return &f.joined
}

// explain points into the definition.
func (b *builder) explain(a *probe.Arg, err error) error {
	var kernel *kerneltype.Error
	if errors.As(err, &kernel) {
		at := kernel.At
		if at < 0 {
			at = a.At
		}
		return b.d.Errorf(at, kernel.Length, kernel.Near, "%s", kernel.Reason)
	}
	at := a.At
	var part *usercode.PartError
	if errors.As(err, &part) {
		at = part.At
	}
	var missing *usercode.NotFound
	if errors.As(err, &missing) {
		return b.d.Errorf(at, len(missing.Name), missing.Near, "%s", missing.Error())
	}
	return b.d.Errorf(at, 0, nil, "%s", err)
}

// condition adds a condition to the value that it compares.
func (b *builder) condition(c *probe.Condition) error {
	for _, i := range b.byLeg(c.Arg.Leg) {
		f := &b.fields[i]
		isCut := b.counts() && f.leaf().Kind != probe.LeafNumber // what events are counted by, is shorter than what is compared
		if isSameValue(&f.arg, &c.Arg) && !isCut {
			return b.test(f, c)
		}
	}
	if err := b.addSomewhere(c.Arg, false); err != nil {
		return err
	}
	return b.test(b.tests[len(b.tests)-1], c)
}

// byLeg returns the numbers of all fields, those of a leg first: both ends of a span may have the same argument.
func (b *builder) byLeg(leg int) []int {
	var own, others []int
	for i := range b.fields {
		if b.fields[i].arg.Leg == leg {
			own = append(own, i)
		} else {
			others = append(others, i)
		}
	}
	return append(own, others...)
}

// isSameValue compares what two arguments read.
func isSameValue(a, b *probe.Arg) bool {
	return a.Base == b.Base && a.Index == b.Index && a.Name == b.Name && a.Type == b.Type &&
		slices.EqualFunc(a.Access, b.Access, func(x, y probe.Access) bool {
			x.At, y.At = 0, 0
			return x == y
		})
}

func (b *builder) test(f *field, c *probe.Condition) error {
	isText := f.leaf().Kind != probe.LeafNumber
	switch {
	case isText && !c.IsText:
		return b.d.Errorf(c.Arg.At, 0, nil, "it is a text: compare it with ==, != or ~ and a text in quotes")
	case !isText && c.IsText:
		for _, n := range f.leaf().Names {
			if string(n.Name) == c.Text && c.Op != probe.OpGlob {
				number := *c
				number.IsText, number.Number = false, n.Number
				f.tests = append(f.tests, number)
				return nil
			}
		}
		return b.d.Errorf(c.Arg.At, 0, nil, "it is a number: compare it with a number")
	case f.leaf().Float:
		return b.d.Errorf(c.Arg.At, 0, nil, "it is a floating-point number, which the kernel cannot compare")
	case c.IsText && textStates(c) > probe.MaxGlob:
		return b.d.Errorf(c.Arg.At, 0, nil, "the text has more than %d characters", probe.MaxGlob)
	}
	f.tests = append(f.tests, *c)
	return nil
}

func textStates(c *probe.Condition) int {
	if c.Op == probe.OpGlob {
		return len(c.Text) - strings.Count(c.Text, "*")
	}
	return len(c.Text)
}

// keys sets by what the two ends are matched.
func (b *builder) keys() error {
	if !b.isSpan() || b.d.Settings.Key[0] == nil {
		return nil
	}
	for i, e := range b.all {
		a := b.d.Settings.Key[i]
		for n := range e.variants {
			r, err := e.variants[n].read(a)
			if err != nil {
				return b.explain(a, err)
			}
			if r.read.Leaf.Kind != probe.LeafNumber {
				return b.d.Errorf(a.At, 0, nil, "a key is a number or an address, and this is a text")
			}
			if r.read.From.Kind == probe.FromWatched || r.read.From.Kind == probe.FromBefore {
				return b.d.Errorf(a.At, 0, nil, "the memory that a breakpoint watches is no key: both ends are at different values of it; pid and the registers can be keys")
			}
			e.variants[n].key = probe.Key{Kind: probe.KeyValue, Value: r.read, PerProcess: e.leg.Probe.Info().User}
		}
	}
	return nil
}

// finish lays the values out and makes programs.
func (b *builder) finish() error {
	l := b.layOut()
	if b.counts() && l.fixed > probe.MaxKey {
		return b.d.Errorf(0, 0, nil, "the values of by: take %d bytes, and %d is the most; a text takes %d", l.fixed, probe.MaxKey, probe.MaxKeyText)
	}
	types, err := b.types(l)
	if err != nil {
		return err
	}
	for _, e := range b.all {
		for i := range e.variants {
			b.program(e, i, l, types)
		}
	}
	return nil
}
