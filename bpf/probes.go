//go:build linux

package bpf

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"wprof/internal/probe"
)

const (
	openProbesProgram = "open_probes"

	probeConstant = int64(0x77505242c0000000) // PROBE_CONSTANT of probe.h

	maxOpenSpans = 1 << 16
	maxSpanBytes = 64 << 20 // of all open spans
	spanHeader   = 16       // of struct probe_event

	// Up to this size of all open spans, their memory is taken at the start.
	preallocatedSpanBytes = 4 << 20

	// Keys by which events are counted, and the memory for them.
	maxCounted    = 1 << 14
	leastCounted  = 1 << 8
	maxCountBytes = 64 << 20
)

// probePattern returns the name of the pattern of a probe's program, by its context and role.
func probePattern(p *probe.Program) string {
	context := map[probe.Context]string{probe.Registers: "registers", probe.Words: "words", probe.Record: "record", probe.Call: "call", probe.Hit: "hit"}
	role := map[probe.Role]string{probe.Instant: "instant", probe.Begin: "begin", probe.End: "end"}
	return "probe_" + context[p.Context] + "_" + role[p.Role]
}

func isProbePattern(name string) bool { return strings.HasPrefix(name, "probe_") }

// probeName is the name of the program with a number, at most 15 bytes.
func probeName(number int) string { return fmt.Sprintf("probe%d", number) }

// isProbe reports whether that is the name of the program of a probe.
func isProbe(name string) bool {
	number, found := strings.CutPrefix(name, "probe")
	return found && strings.Trim(number, "0123456789") == ""
}

// hasProbeSpans reports whether any probe is a span.
func (o *Options) hasProbeSpans() bool {
	return slices.ContainsFunc(o.Probes, func(p *probe.Program) bool { return p.Role == probe.Begin })
}

// counts reports whether events of any probe are counted.
func (o *Options) counts() bool {
	return slices.ContainsFunc(o.Probes, func(p *probe.Program) bool { return p.Counts })
}

// needsFentry reports whether any probe does.
func (o *Options) needsFentry() bool {
	return slices.ContainsFunc(o.Probes, func(p *probe.Program) bool { return p.Context == probe.Call })
}

// setProbes adds the programs of probes, and removes their patterns.
func (o *Options) setProbes(spec *ebpf.CollectionSpec, read *Preloaded) error {
	patterns := make(map[string]*ebpf.ProgramSpec)
	for name, p := range spec.Programs {
		if isProbePattern(name) {
			patterns[name] = p
			delete(spec.Programs, name)
		}
	}
	if len(o.Probes) == 0 {
		return nil
	}
	kernel, err := read.types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	o.attachesMany, o.attachesManyKprobes = hasType(kernel, "bpf_uprobe_multi_link"), hasType(kernel, "bpf_kprobe_multi_link")
	keyBytes := o.keyBytes()
	var globs probeGlobs
	for i, p := range o.Probes {
		name := probeName(i)
		one, err := instantiate(patterns[probePattern(p)], p, i, keyBytes, &globs)
		if err != nil {
			return err
		}
		one.Name = name
		if err := o.setTarget(one, p, read); err != nil {
			return err
		}
		spec.Programs[name] = one
	}
	o.probeGlobs = globs.all
	bytes := o.spanBytes()
	for _, name := range []string{"probe_states", "probe_totals"} {
		spec.Maps[name].MaxEntries = uint32(len(o.Probes))
	}
	spec.Maps["probe_watched"].MaxEntries = uint32(max(1, o.breakpoints()))
	spec.Maps["probe_globs"].MaxEntries = uint32(max(1, len(globs.all)))
	o.setSpans(spec.Maps["probe_spans"], bytes)
	if o.counts() {
		if err := o.setCounts(spec, keyBytes); err != nil {
			return err
		}
	}
	return setVariables(spec, map[string]any{
		"probe_span_bytes": uint32(bytes), "probe_kernel": o.ProbeStacks.Kernel, "probe_user": o.ProbeStacks.User,
		"probe_buckets": o.hasBuckets(),
	})
}

// setSpans sizes the map of open spans. Room that is taken beforehand saves some 150 ns a span.
func (o *Options) setSpans(m *ebpf.MapSpec, bytes int) {
	if !o.hasProbeSpans() {
		return
	}
	m.ValueSize, m.MaxEntries = uint32(bytes), uint32(min(maxOpenSpans, maxSpanBytes/bytes))
	if int(m.MaxEntries)*bytes <= preallocatedSpanBytes {
		m.Flags &^= unix.BPF_F_NO_PREALLOC
	}
}

// setCounts sizes the map of what is counted.
func (o *Options) setCounts(spec *ebpf.CollectionSpec, keyBytes int) error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count the CPUs: %w", err)
	}
	m := spec.Maps["probe_counts"]
	m.KeySize, m.ValueSize = uint32(probeKeyHeader+keyBytes), uint32(unsafe.Sizeof(probeCount{}.probeTotal))
	if o.hasBuckets() {
		m.ValueSize = uint32(unsafe.Sizeof(probeCount{}))
	}
	m.MaxEntries = uint32(max(leastCounted, min(maxCounted, maxCountBytes/(cpus*int(m.ValueSize)))))
	return nil
}

// countsTotal reports whether a program only counts, so that it needs nothing of an event.
func countsTotal(p *probe.Program) bool {
	return p.Counts && p.Role == probe.Instant && len(p.Values) == 0 && !p.Stack && p.OneOf <= 1 && p.PerSecond == 0
}

// hasBuckets reports whether any probe counts in a histogram.
func (o *Options) hasBuckets() bool {
	return slices.ContainsFunc(o.Probes, func(p *probe.Program) bool { return p.CountsBuckets })
}

// keyBytes is the size of the largest values by which events are counted.
func (o *Options) keyBytes() int {
	most := 0
	for _, p := range o.Probes {
		if p.Counts {
			most = max(most, p.Fixed)
		}
	}
	return most
}

func hasType(kernel *btf.Spec, name string) bool {
	_, err := kernel.AnyTypeByName(name)
	return err == nil
}

// spanBytes is the size of a span that has begun.
func (o *Options) spanBytes() int {
	most := 0
	for _, p := range o.Probes {
		if p.Role == probe.Begin {
			most = max(most, p.MaxLength())
		}
	}
	return spanHeader + (most+7)/8*8
}

// setTarget sets what a program is loaded for.
func (o *Options) setTarget(spec *ebpf.ProgramSpec, p *probe.Program, read *Preloaded) error {
	site := &p.Sites[0]
	switch {
	case p.Context == probe.Registers && site.Path != "" && o.attachesMany:
		spec.AttachType = ebpf.AttachTraceUprobeMulti
	case o.isKprobeMulti(p):
		spec.AttachType = ebpf.AttachTraceKprobeMulti
	case p.Context == probe.Call && site.Return:
		spec.AttachTo, spec.AttachType = site.Name, ebpf.AttachTraceFExit
	case p.Context == probe.Call:
		spec.AttachTo, spec.AttachType = site.Name, ebpf.AttachTraceFEntry
	}
	if p.Context == probe.Call && site.ID != 0 {
		if spec.AttachTarget = read.targets[site.ID]; spec.AttachTarget == nil {
			return fmt.Errorf("probe BPF program %d: it has not been looked up", site.ID)
		}
	}
	return nil
}

// isKprobeMulti reports whether one link has all kprobes of a program: not those of spans, which need the stack pointer.
func (o *Options) isKprobeMulti(p *probe.Program) bool {
	return o.attachesManyKprobes && p.Context == probe.Registers && p.Role == probe.Instant && len(p.Sites) > 1 && p.Sites[0].Path == "" && p.Sites[0].Offset == 0
}

// instantiate makes the program of a probe from its pattern.
func instantiate(pattern *ebpf.ProgramSpec, p *probe.Program, slot, keyBytes int, globs *probeGlobs) (*ebpf.ProgramSpec, error) {
	one := pattern.Copy()
	one.Instructions = replaceFunction(one.Instructions, "probe_read", readCode(p, slot, keyBytes, globs))
	one.Instructions = dropUncalled(replaceFunction(one.Instructions, "probe_key", keyCode(p)))
	stack := 0
	if p.Stack {
		stack = 1
	}
	perWindow := 0
	if p.PerSecond > 0 {
		perWindow = max(1, p.PerSecond/10)
	}
	counts := 0
	switch {
	case p.CountsDuration:
		counts = 2
	case p.Counts:
		counts = 1
	}
	total := int64(0)
	if countsTotal(p) {
		total = 1
	}
	shared := int64(0)
	if p.Context == probe.Hit {
		shared = 1
	}
	numbers := []int64{ // enum probe_constant
		int64(p.Type), int64(p.EntryType), int64(slot), int64(p.Definition), int64(p.OneOf), int64(perWindow), p.Min, int64(stack), int64(counts), total, int64(p.BeganBy + 1), shared,
	}
	for i := range one.Instructions {
		ins := &one.Instructions[i]
		if !ins.IsConstantLoad(asm.DWord) || ins.Constant&^0xff != probeConstant {
			continue
		}
		which := int(ins.Constant & 0xff)
		if which >= len(numbers) {
			return nil, fmt.Errorf("a pattern of the programs of probes has an unknown constant, %d", which)
		}
		ins.Constant = numbers[which]
	}
	return one, nil
}

// replaceFunction replaces the body of a function.
func replaceFunction(all asm.Instructions, name string, body asm.Instructions) asm.Instructions {
	from := slices.IndexFunc(all, func(ins asm.Instruction) bool { return ins.Symbol() == name })
	if from < 0 {
		return all
	}
	to := from + 1
	for to < len(all) && btf.FuncMetadata(&all[to]) == nil {
		to++
	}
	body[0] = body[0].WithMetadata(all[from].Metadata)
	prefix := func(label string) string { return name + "_" + label }
	for i := range body {
		if i > 0 && body[i].Symbol() != "" {
			body[i] = body[i].WithSymbol(prefix(body[i].Symbol()))
		}
		if r := body[i].Reference(); r != "" && r != "probe_glob" && r != "probe_watch" {
			body[i] = body[i].WithReference(prefix(r))
		}
	}
	return slices.Concat(all[:from], body, all[to:])
}

// dropUncalled drops the functions that nothing calls any more, which the kernel refuses.
func dropUncalled(all asm.Instructions) asm.Instructions {
	for {
		called := make(map[string]bool)
		for i := range all {
			if ins := &all[i]; ins.IsFunctionCall() || ins.IsFunctionReference() {
				called[ins.Reference()] = true
			}
		}
		kept, drop := make(asm.Instructions, 0, len(all)), false
		for i := range all {
			if i > 0 && btf.FuncMetadata(&all[i]) != nil {
				drop = !called[all[i].Symbol()]
			}
			if !drop {
				kept = append(kept, all[i])
			}
		}
		if len(kept) == len(all) {
			return kept
		}
		all = kept
	}
}

// attachProbes attaches the programs of probes.
func (t *Tracer) attachProbes() error {
	for i, glob := range t.options.probeGlobs {
		if err := t.collection.Maps["probe_globs"].Put(uint32(i), compileGlob(glob)); err != nil {
			return fmt.Errorf("give the kernel programs the pattern %s: %w", glob, err)
		}
	}
	for i, p := range t.options.Probes {
		program := t.collection.Programs[probeName(i)]
		var err error
		switch {
		case p.Context == probe.Registers && p.Sites[0].Path != "":
			err = t.attachUprobes(program, p.Sites)
		case p.Context == probe.Registers:
			err = t.attachKprobes(program, p)
		case p.Context == probe.Record:
			err = t.attachRecordProbes(program, p.Sites)
		case p.Context == probe.Words:
			err = t.attachRawTracepointProbes(program, p.Sites)
		case p.Context == probe.Call:
			err = t.attachCallProbe(program, &p.Sites[0])
		case p.Context == probe.Hit:
			err = t.watch(program, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uprobeGroup are places that are attached together.
type uprobeGroup struct {
	path     string
	pid      int
	isReturn bool
}

func (t *Tracer) attachUprobes(program *ebpf.Program, sites []probe.Site) error {
	groups := make(map[uprobeGroup][]probe.Site)
	var order []uprobeGroup
	for _, s := range sites {
		g := uprobeGroup{s.Path, s.PID, s.Return}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], s)
	}
	for _, g := range order {
		file, err := link.OpenExecutable(g.path)
		if err != nil {
			return fmt.Errorf("open %s to attach a probe: %w", g.path, err)
		}
		if err := t.attachGroup(file, g, program, groups[g]); err != nil {
			return fmt.Errorf("attach a probe to %s at offset %#x: %w", g.path, groups[g][0].Offset, err)
		}
	}
	return nil
}

func (t *Tracer) attachGroup(file *link.Executable, g uprobeGroup, program *ebpf.Program, sites []probe.Site) error {
	if !t.options.attachesMany {
		return t.attachEach(file, g, program, sites)
	}
	o := link.UprobeMultiOptions{PID: uint32(g.pid)}
	for _, s := range sites {
		o.Addresses = append(o.Addresses, s.Offset)
		o.RefCtrOffsets = append(o.RefCtrOffsets, s.Semaphore)
		o.Cookies = append(o.Cookies, s.Function)
	}
	attach := file.UprobeMulti
	if g.isReturn {
		attach = file.UretprobeMulti
	}
	l, err := attach(nil, program, &o)
	if err == nil {
		t.links = append(t.links, l)
	}
	return err
}

// attachEach attaches a program to one place after the other, as Linux before 6.6 does.
func (t *Tracer) attachEach(file *link.Executable, g uprobeGroup, program *ebpf.Program, sites []probe.Site) error {
	attach := file.Uprobe
	if g.isReturn {
		attach = file.Uretprobe
	}
	for _, s := range sites {
		l, err := attach("", program, &link.UprobeOptions{Address: s.Offset, RefCtrOffset: s.Semaphore, Cookie: s.Function, PID: g.pid})
		if err != nil {
			return err
		}
		t.links = append(t.links, l)
	}
	return nil
}

func (t *Tracer) attachKprobes(program *ebpf.Program, p *probe.Program) error {
	if t.options.isKprobeMulti(p) {
		return t.attachKprobesTogether(program, p.Sites)
	}
	for _, s := range p.Sites {
		attach := link.Kprobe
		if s.Return {
			attach = link.Kretprobe
		}
		l, err := attach(s.Name, program, &link.KprobeOptions{Offset: s.Offset, Cookie: s.Function})
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to its function %s (%v)", s.Name, err)
		}
		t.links = append(t.links, l)
	}
	return nil
}

func (t *Tracer) attachKprobesTogether(program *ebpf.Program, sites []probe.Site) error {
	var o link.KprobeMultiOptions
	for _, s := range sites {
		o.Symbols = append(o.Symbols, s.Name)
		o.Cookies = append(o.Cookies, s.Function)
	}
	attach := link.KprobeMulti
	if sites[0].Return {
		attach = link.KretprobeMulti
	}
	l, err := attach(program, o)
	if err != nil {
		return unsupported(err, "this kernel does not let a program be attached to %d of its functions, such as %s (%v)", len(sites), sites[0].Name, err)
	}
	t.links = append(t.links, l)
	return nil
}

func (t *Tracer) attachCallProbe(program *ebpf.Program, site *probe.Site) error {
	l, err := link.AttachTracing(link.TracingOptions{Program: program})
	if err != nil {
		return unsupported(err, "this kernel does not let a program be attached to its function %s: it has no kprobes, and refuses fentry (%v)", site.Name, err)
	}
	t.links = append(t.links, l)
	return nil
}

func (t *Tracer) pinned() *pins {
	if t.tracepoints == nil {
		t.tracepoints = newPins()
	}
	return t.tracepoints
}

func (t *Tracer) attachRecordProbes(program *ebpf.Program, sites []probe.Site) error {
	cpu, err := currentCPU()
	if err != nil {
		return err
	}
	for _, s := range sites {
		l, err := attachTracepoint(program.FD(), s.ID, s.Function, cpu)
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to the tracepoint %s (%v)", s.Name, err)
		}
		t.pinned().hold(l)
	}
	return nil
}

func (t *Tracer) attachRawTracepointProbes(program *ebpf.Program, sites []probe.Site) error {
	for _, s := range sites {
		l, err := openRawTracepoint(program.FD(), s.Name, 0)
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to the raw tracepoint %s (%v)", s.Name, err)
		}
		t.pinned().hold(l)
	}
	return nil
}

// probeStats returns the counts of the programs of probes.
func (t *Tracer) probeStats() (all []ProgramStat, err error) {
	for i := range t.options.Probes {
		stats, err := t.collection.Programs[probeName(i)].Stats()
		if err != nil {
			return nil, fmt.Errorf("read the statistics of program %s: %w", probeName(i), err)
		}
		all = append(all, ProgramStat{probeName(i), stats.RunCount, stats.Runtime, stats.RecursionMisses})
	}
	return all, nil
}
