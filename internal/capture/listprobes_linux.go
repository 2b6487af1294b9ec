package capture

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/tracepoint"
	"wprof/internal/usercode"
)

// maxListedFunctions bounds the functions of a file that are listed.
const maxListedFunctions = 1 << 20

// maxListedPlaces bounds the functions that are named of a line.
const maxListedPlaces = 8

// lineWord is what lists lines of the source: these are probed by u:.
const lineWord = "line"

// probeLine is a place that can be probed, as --list shows it.
type probeLine struct {
	Probe  string      `json:"probe"` // as -U takes it
	Kind   string      `json:"kind"`
	Target string      `json:"target"`
	Path   string      `json:"path,omitempty"`
	Fields []fieldLine `json:"fields"`
	Result string      `json:"result,omitempty"`

	Indirect  bool   `json:"ifunc,omitempty"`
	Semaphore bool   `json:"semaphore,omitempty"`
	Places    int    `json:"places,omitempty"` // of a static probe
	Note      string `json:"note,omitempty"`
}

// probeLister lists what could be probed.
type probeLister struct {
	machine probeMachine
	kind    probe.ProbeKind
	isLine  bool
	lines   []probeLine
}

// probePattern splits a pattern that begins with the word of a kind of probe.
func probePattern(text string) (kind probe.ProbeKind, pattern string, ok bool) {
	word, pattern, hasColon := strings.Cut(text, ":")
	if hasColon && word == lineWord {
		return probe.UserEntry, pattern, true
	}
	for _, row := range probe.Kinds() {
		if hasColon && row.Word == word {
			return row.Kind, pattern, true
		}
	}
	return 0, "", false
}

// isOfNoProgram reports whether a pattern selects probes that are in no program or library.
func isOfNoProgram(text string) bool {
	kind, _, ok := probePattern(text)
	return !ok || !kind.Info().User
}

// listProbes lists what the pattern of a kind of probe selects. A command stands for its program, which the pattern then leaves out.
func listProbes(read *bpf.Preloaded, text string, command []string) ([]probeLine, error) {
	kind, pattern, _ := probePattern(text)
	l := probeLister{machine: probeMachine{read: read, files: make(map[string]*usercode.File)}, kind: kind,
		isLine: strings.HasPrefix(text, lineWord+":")}
	defer l.machine.close()
	if len(command) > 0 {
		l.machine.command = command[0]
	}
	if err := l.find(pattern); err != nil {
		return nil, listError(text, err)
	}
	slices.SortStableFunc(l.lines, func(a, b probeLine) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Probe, b.Probe))
	})
	return slices.CompactFunc(l.lines, func(a, b probeLine) bool { return a.Probe == b.Probe }), nil
}

// listError is a failure to list what a pattern selects.
func listError(text string, err error) error {
	var missing *usercode.NotFound
	if errors.As(err, &missing) && len(missing.Near) > 0 {
		return cli.Usagef("--list %s: %w; did you mean %s?", text, err, strings.Join(missing.Near, " or "))
	}
	return cli.Usagef("--list %s: %w", text, err)
}

func (l *probeLister) find(pattern string) error {
	switch l.kind {
	case probe.Tracepoint:
		return l.findTracepoints(pattern)
	case probe.RawTracepoint:
		return l.findRawTracepoints(pattern)
	case probe.KernelEntry, probe.KernelReturn, probe.KernelSpan:
		return l.findKernelFunctions(pattern)
	case probe.BPFEntry, probe.BPFReturn, probe.BPFSpan:
		return l.findPrograms(pattern)
	}
	name, rest, _ := strings.Cut(pattern, ":")
	if l.machine.command != "" {
		name, rest = l.machine.command, pattern
	}
	if name == "" {
		what := "GLOB"
		if l.kind == probe.USDT {
			what = "PROVIDER:GLOB"
		}
		return fmt.Errorf("write the program or library, and a glob: %s:FILE:%s", l.kind.Info().Word, what)
	}
	path, err := l.machine.Path(name)
	if err != nil {
		return err
	}
	f, err := l.machine.Open(path)
	if err != nil {
		return err
	}
	switch {
	case l.isLine:
		return l.findLine(f, path, rest)
	case l.kind == probe.USDT:
		return l.findStaticProbes(f, path, rest)
	case l.kind == probe.Breakpoint:
		return l.findData(f, path, cmp.Or(rest, "*"))
	}
	return l.findFunctions(f, path, cmp.Or(rest, "*"))
}

// add adds a place.
func (l *probeLister) add(target, path string, line probeLine) {
	leg := probe.Leg{Probe: l.kind, Target: probe.Word{Text: target}, Path: probe.Word{Text: path}}
	line.Probe, line.Kind, line.Target, line.Path = leg.String(), l.kind.Info().Word, target, path
	if line.Fields == nil {
		line.Fields = []fieldLine{}
	}
	l.lines = append(l.lines, line)
}

func (l *probeLister) findTracepoints(pattern string) error {
	if err := l.machine.tracepoints(); err != nil {
		return err
	}
	finder := l.machine.finder
	if finder.fs == nil {
		return fmt.Errorf("read tracefs, which describes the fields of tracepoints: %w; raw_tp:GLOB needs none", finder.noFS)
	}
	category, name, hasName := strings.Cut(pattern, ":")
	for _, event := range finder.events {
		c, n, _ := strings.Cut(event, ":")
		isNamed := glob.Match(category, []byte(c)) && glob.Match(name, []byte(n))
		if !isNamed && (hasName || !glob.Match(pattern, []byte(c)) && !glob.Match(pattern, []byte(n))) {
			continue
		}
		t, err := finder.describe(event)
		if err != nil {
			l.add(event, "", probeLine{Note: err.Error()})
			continue
		}
		l.add(event, "", probeLine{Fields: fieldsOf(t)})
	}
	if len(l.lines) == 0 {
		return &usercode.NotFound{What: "tracepoint", Name: pattern, Near: finder.near(category, cmp.Or(name, pattern), hasName)}
	}
	return nil
}

// fieldsOf lists the fields of a tracepoint.
func fieldsOf(t *tracepoint.Tracepoint) []fieldLine {
	fields := []fieldLine{}
	for i, f := range t.Def.Fields {
		fields = append(fields, fieldLine{Name: string(f.Name), Type: typeName(f, &t.Places[i])})
	}
	return fields
}

func (l *probeLister) findRawTracepoints(pattern string) error {
	names, err := l.machine.read.RawTracepoints()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !glob.Match(pattern, []byte(name)) {
			continue
		}
		params, _, err := l.machine.read.RawArguments(name)
		if err != nil {
			return err
		}
		l.add(name, "", probeLine{Fields: paramsOf(params)})
	}
	if len(l.lines) == 0 {
		return &usercode.NotFound{What: "raw tracepoint", Name: pattern, Near: cli.Nearest(pattern, names)}
	}
	return nil
}

// paramsOf lists arguments with types of the kernel.
func paramsOf(params []kerneltype.Param) []fieldLine {
	fields := []fieldLine{}
	for i, p := range params {
		fields = append(fields, fieldLine{Name: cmp.Or(p.Name, strconv.Itoa(i)), Type: kerneltype.Describe(p.Type)})
	}
	return fields
}

func (l *probeLister) findKernelFunctions(pattern string) error {
	functions, err := l.machine.KernelFunctions(pattern)
	if err != nil {
		return err
	}
	for _, fn := range functions {
		line := probeLine{Fields: paramsOf(fn.Params)}
		if fn.Result != nil {
			line.Result = kerneltype.Describe(fn.Result)
		}
		l.add(fn.Name, "", line)
	}
	return nil
}

// findFunctions lists functions of a file.
func (l *probeLister) findFunctions(f *usercode.File, path, pattern string) error {
	functions, err := f.Functions(pattern, maxListedFunctions)
	var indirect *usercode.IndirectError
	if err != nil && !errors.As(err, &indirect) {
		return err
	}
	for _, name := range f.Indirect(pattern) {
		note := "chosen when the program starts (IFUNC): probe what it is chosen from"
		if indirect != nil && len(indirect.Names) == 1 && len(indirect.Implementations) > 0 {
			note += ", " + strings.Join(indirect.Implementations, ", ")
		}
		l.add(name, path, probeLine{Indirect: true, Note: note})
	}
	for i := range functions { // also older versions of those before, which are the same to -U
		l.add(functions[i].Name, path, described(f, &functions[i]))
	}
	return nil
}

// findData lists the variables of a file that breakpoints can watch.
func (l *probeLister) findData(f *usercode.File, path, pattern string) error {
	data, err := f.Data(pattern)
	if err != nil {
		return err
	}
	for _, d := range data {
		l.add(d.Name, path, probeLine{Fields: []fieldLine{{Name: "value", Type: cli.Counted(d.Size, "byte")}}})
	}
	return nil
}

// described has the arguments and the result of a function, where DWARF describes them.
func described(f *usercode.File, fn *usercode.Function) probeLine {
	arguments, err := f.Arguments(fn)
	if err != nil {
		return probeLine{}
	}
	line := probeLine{Fields: variablesOf(arguments)}
	if result, err := f.Result(fn); err == nil {
		line.Result = result.Type
	}
	return line
}

// variablesOf lists arguments and variables.
func variablesOf(all []usercode.Variable) []fieldLine {
	fields := []fieldLine{}
	for _, v := range all {
		name := v.Name
		if name == "" {
			name = strconv.Itoa(v.Index)
		}
		fields = append(fields, fieldLine{Name: name, Type: v.Type})
	}
	return fields
}

// findLine lists the places of a line, as one probe, with the variables in scope at the first of them.
func (l *probeLister) findLine(f *usercode.File, path, pattern string) error {
	at := strings.LastIndexByte(pattern, ':')
	number, err := strconv.Atoi(pattern[at+1:])
	if at < 0 || err != nil || number < 1 {
		return errors.New("write the program or library, and a line: line:FILE:SOURCE:LINE")
	}
	places, err := f.Line(pattern[:at], number)
	if err != nil {
		return err
	}
	line := probeLine{Places: len(places), Fields: []fieldLine{}}
	if variables, err := f.Variables(places[0].Address); err == nil {
		line.Fields = variablesOf(variables)
	}
	var names []string
	for _, p := range places {
		name := "in " + p.Function
		if p.Inlined {
			name += ", inlined"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if line.Note = strings.Join(names[:min(len(names), maxListedPlaces)], "; "); len(places) > 1 {
		line.Note = fmt.Sprintf("%d places: %s", len(places), line.Note)
	}
	l.add(pattern, path, line)
	return nil
}

// findStaticProbes lists the static probes of a file.
func (l *probeLister) findStaticProbes(f *usercode.File, path, pattern string) error {
	provider, name, _ := strings.Cut(pattern, ":")
	sites, err := f.USDT(cmp.Or(provider, "*"), cmp.Or(name, "*"))
	var missing *usercode.NotFound
	if errors.As(err, &missing) && pattern == "" {
		return fmt.Errorf("%s has no static probes", path)
	}
	if err != nil {
		return err
	}
	isSame := func(a, b usercode.Site) bool { return a.Provider == b.Provider && a.Name == b.Name }
	for len(sites) > 0 {
		n := 1
		for n < len(sites) && isSame(sites[0], sites[n]) {
			n++
		}
		l.add(sites[0].Provider+":"+sites[0].Name, path, staticProbe(sites[:n]))
		sites = sites[n:]
	}
	return nil
}

// staticProbe describes a static probe by its first place: the others may have the arguments elsewhere.
func staticProbe(sites []usercode.Site) probeLine {
	first := &sites[0]
	line := probeLine{Places: len(sites), Semaphore: first.Semaphore != 0, Fields: []fieldLine{}}
	for i, a := range first.Args {
		field := fieldLine{Name: strconv.Itoa(i), Type: a.Type.Info().Words[0], Where: a.Spec}
		if a.Err != nil {
			field.Type = "unknown"
		}
		line.Fields = append(line.Fields, field)
	}
	var notes []string
	if line.Semaphore {
		notes = append(notes, "semaphore")
	}
	if len(sites) > 1 {
		notes = append(notes, fmt.Sprintf("%d places", len(sites)))
	}
	if len(first.Args) == 0 && first.Spec != "" {
		notes = append(notes, "arguments that are not understood: "+first.Spec)
	}
	line.Note = strings.Join(notes, ", ")
	return line
}

// findPrograms lists BPF programs, and their subprograms.
func (l *probeLister) findPrograms(pattern string) error {
	pattern, sub, hasSub := strings.Cut(pattern, ":")
	programs, err := bpf.LoadedPrograms()
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return errors.New("no BPF program is loaded")
	}
	count := make(map[string]int)
	for _, p := range programs {
		count[p.Name]++
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Name)
		id := strconv.FormatUint(uint64(p.ID), 10)
		if !glob.Match(pattern, []byte(p.Name)) && pattern != id {
			continue
		}
		target := p.Name
		if count[p.Name] > 1 || p.Name == "" || pattern == id {
			target = id
		}
		l.addProgram(&p, target, sub, hasSub)
	}
	if len(l.lines) == 0 {
		return &usercode.NotFound{What: "BPF program", Name: pattern, Near: cli.Nearest(pattern, names)}
	}
	return nil
}

func (l *probeLister) addProgram(p *bpf.LoadedProgram, target, sub string, hasSub bool) {
	if !hasSub {
		line := probeLine{Note: fmt.Sprintf("%s program %d, %s", p.Type, p.ID, p.Name)}
		if len(p.Functions) == 0 {
			line.Note += ", without types: it cannot be probed"
		} else {
			line.Fields, line.Result = signature(p.Functions[0])
		}
		l.add(target, "", line)
	}
	for i := 1; i < len(p.Functions); i++ {
		if f := p.Functions[i]; !hasSub || glob.Match(sub, []byte(f.Name)) {
			line := probeLine{}
			line.Fields, line.Result = signature(f)
			l.add(target+":"+f.Name, "", line)
		}
	}
}

// signature lists the arguments and the result of a function.
func signature(f *btf.Func) (fields []fieldLine, result string) {
	proto, ok := f.Type.(*btf.FuncProto)
	if !ok {
		return nil, ""
	}
	var params []kerneltype.Param
	for _, p := range proto.Params {
		params = append(params, kerneltype.Param{Name: p.Name, Type: p.Type})
	}
	if _, isVoid := proto.Return.(*btf.Void); !isVoid {
		result = kerneltype.Describe(proto.Return)
	}
	return paramsOf(params), result
}

// text writes the place, what is known of its arguments, and the note.
func (p *probeLine) text(width int) string {
	var words []string
	for _, f := range p.Fields {
		word := f.Name + " " + f.Type
		if f.Where != "" {
			word += " in " + f.Where
		}
		words = append(words, word)
	}
	if p.Result != "" {
		words = append(words, "ret "+p.Result)
	}
	text := fmt.Sprintf("%-*s  %s", width, p.Probe, strings.Join(words, ", "))
	if p.Note != "" {
		text += " – " + p.Note
	}
	return strings.TrimRight(text, " ")
}
