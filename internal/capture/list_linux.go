package capture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"wprof/bpf"
	"wprof/docs"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/printable"
	"wprof/internal/proc"
	"wprof/internal/tracepoint"
)

// ListFlags are the flags of listing what can be recorded.
func ListFlags() cli.Group {
	return cli.Group{Title: "What can be recorded here", Flags: []cli.Flag{
		{Name: "list", Kind: cli.Optional, Value: "GLOB", Mode: true, Begins: probeBegins(), Usage: "List what can be recorded, what that costs, and whether this kernel has it. With a GLOB only what it matches, and the tracepoints that it matches, with their fields. With the word of a probe before it, what -U could probe, as -U takes it, with arguments: u:FILE:GLOB, line:FILE:SOURCE:LINE, usdt:FILE:PROVIDER:GLOB, watch:FILE:GLOB, k:GLOB, tp:GROUP:GLOB, raw_tp:GLOB, bpf:GLOB. With a command after -- FILE is its program, and is left out. Needs no privilege, except for the fields of tracepoints and for BPF programs."},
		{Name: "measure", Usage: "With --list: measure the costs on this machine, in a recording of 3 s of everything that it has."},
		{Name: "json", Usage: "With --list: print JSON lines."},
	}}
}

// tracepointLine is a tracepoint as --list shows it.
type tracepointLine struct {
	Name   string      `json:"tracepoint"`
	Fields []fieldLine `json:"fields"`
}

type fieldLine struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Where string `json:"where,omitempty"` // of an argument of a static probe
}

// list is --list.
func list(inv *cli.Invocation) error {
	patterns := inv.Args
	for _, value := range inv.Strings("list") {
		if value != "" {
			patterns = append(patterns, value)
		}
	}
	if inv.HasCommand() && (len(patterns) == 0 || slices.ContainsFunc(patterns, isOfNoProgram)) {
		return cli.Usagef("--list records no command; with one it only lists probes in its program, as in --list 'u:GLOB' -- COMMAND")
	}
	kernel, err := bpf.ReadTypes()
	if err != nil {
		return err
	}
	l := lister{inv: inv, kernel: kernel}
	if err := l.read(patterns); err != nil {
		return err
	}
	if inv.Bool("measure") {
		if err := l.measure(); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(inv.Std.Out)
	if inv.Bool("json") {
		l.printJSON(out)
	} else {
		l.print(out)
	}
	return out.Flush()
}

type lister struct {
	inv         *cli.Invocation
	kernel      *bpf.Preloaded
	sources     []*listed
	tracepoints []tracepointLine
	probes      []probeLine
	notes       []string // on what this process cannot know
}

// read reads what the patterns select: those of probes begin with a kind of probe, the others are of sources and tracepoints.
func (l *lister) read(patterns []string) error {
	var others []string
	for _, pattern := range patterns {
		if _, _, ok := probePattern(pattern); !ok {
			others = append(others, pattern)
			continue
		}
		found, err := listProbes(l.kernel, pattern, l.inv.Command)
		if err != nil {
			return err
		}
		l.probes = append(l.probes, found...)
	}
	if len(others) == 0 && len(patterns) > 0 {
		return nil
	}
	if err := l.readSources(others); err != nil {
		return err
	}
	return l.readTracepoints(others)
}

func (l *lister) readSources(patterns []string) error {
	figures, err := docs.Figures()
	if err != nil {
		return fmt.Errorf("read the figures: %w", err)
	}
	for _, s := range listSources() {
		if len(patterns) > 0 && !slices.ContainsFunc(patterns, s.matches) {
			continue
		}
		s.find(l.kernel)
		s.lookUp(figures)
		l.sources = append(l.sources, s)
	}
	return nil
}

// readTracepoints reads the tracepoints that the patterns select. Where it is the only pattern, one that selects nothing is an error.
func (l *lister) readTracepoints(patterns []string) error {
	finder, err := newTracepointFinder(l.kernel)
	if err != nil {
		return err
	}
	defer finder.close()
	finder.option, finder.none = "--list ", "neither a source nor a tracepoint of this kernel has this name"
	l.describeTracepoints(finder)
	var names []string
	for _, pattern := range patterns {
		found, err := finder.match(pattern)
		switch {
		case err == nil:
			names = append(names, found...)
		case !slices.ContainsFunc(l.sources, func(s *listed) bool { return s.matches(pattern) }):
			return err
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t, err := finder.describe(name)
		if err != nil {
			l.inv.Warnf("%v", err)
			continue
		}
		l.tracepoints = append(l.tracepoints, tracepointLine{Name: name, Fields: fieldsOf(t)})
	}
	return nil
}

// describeTracepoints says how many tracepoints there are.
func (l *lister) describeTracepoints(finder *tracepointFinder) {
	if err := finder.readRaw(); err != nil {
		return
	}
	for _, s := range l.sources {
		if s.Name != tracepoint.Feature {
			continue
		}
		s.Shows += fmt.Sprintf(": %s here, and %s raw ones; --list 'GROUP:*' lists them", cli.Grouped(len(finder.events)), cli.Grouped(len(finder.raw)))
		if finder.fs == nil {
			s.Here, s.Why = "partly", fmt.Sprintf("tracefs, which has their fields and groups, cannot be read without root (%v): here they are raw ones, by their types in BTF", finder.noFS)
		}
	}
	if finder.fs == nil {
		l.notes = append(l.notes, "this process cannot read tracefs: groups and fields of tracepoints are not known, and those listed are raw ones")
	}
}

// typeName is the type of a field, as a user may call it.
func typeName(f *format.TypeField, p *tracepoint.Place) string {
	name := ""
	switch format.ValueType(f.Type) {
	case format.ValueType_VALUE_STRING:
		return "str"
	case format.ValueType_VALUE_BYTES:
		return "bytes"
	case format.ValueType_VALUE_BOOL:
		return "bool"
	case format.ValueType_VALUE_ENUM:
		if f.List {
			return "flags"
		}
		return "enum"
	case format.ValueType_VALUE_INT:
		name = fmt.Sprintf("s%d", 8*p.Size)
	default:
		name = fmt.Sprintf("u%d", 8*p.Size)
	}
	if f.Hint == uint32(format.ValueHint_HINT_HEX) {
		name += " hex"
	}
	if f.List {
		name += "[]"
	}
	return name
}

func (l *lister) printJSON(out io.Writer) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, s := range l.sources {
		_ = encoder.Encode(s) // an error stays with the writer
	}
	for _, t := range l.tracepoints {
		_ = encoder.Encode(t)
	}
	for _, p := range l.probes {
		_ = encoder.Encode(p)
	}
}

func (l *lister) print(out io.Writer) {
	if len(l.sources) > 0 {
		l.printSources(out)
	}
	width := 0
	for _, t := range l.tracepoints {
		width = max(width, utf8.RuneCountInString(t.Name))
	}
	if len(l.sources) > 0 && len(l.tracepoints) > 0 {
		fmt.Fprintln(out)
	}
	for _, t := range l.tracepoints {
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Name+" "+f.Type)
		}
		fmt.Fprintf(out, "%s\n", strings.TrimRight(fmt.Sprintf("%-*s  %s", width, t.Name, strings.Join(fields, ", ")), " "))
	}
	l.printProbes(out)
	for _, note := range append(l.notes, privilegeNote()...) {
		l.inv.Warnf("%s", note)
	}
}

// maxProbeColumn bounds the first column: names of C++ can be long.
const maxProbeColumn = 80

func (l *lister) printProbes(out io.Writer) {
	width := 0
	for i := range l.probes {
		width = max(width, utf8.RuneCountInString(l.probes[i].Probe))
	}
	for i := range l.probes {
		fmt.Fprintln(out, printable.Text(l.probes[i].text(min(width, maxProbeColumn))))
	}
}

func (l *lister) printSources(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "FLAG\tDEFAULT\tHERE\tNS/EVENT\tBYTES/EVENT\tSHOWS\n")
	var machines []string
	for _, s := range l.sources {
		on := "off"
		if s.On {
			on = "on"
		}
		flag := s.Flag
		if s.Group != "" {
			flag += ", -f " + s.Group
		}
		ns, bytes := s.Cost.text()
		shows := s.Shows
		if s.Why != "" {
			shows += " – " + s.Here + ": " + s.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", flag, on, s.Here, ns, bytes, shows)
		if s.Cost != nil && !slices.Contains(machines, s.Cost.On) {
			machines = append(machines, s.Cost.On)
		}
	}
	_ = w.Flush() // an error stays with out
	fmt.Fprintln(out)
	for _, machine := range machines {
		fmt.Fprintf(out, "Costs: kernel programs, and the stream before compression, on %s\n", machine)
	}
	if len(machines) == 0 {
		fmt.Fprintln(out, "Costs: not measured; --measure measures them on this machine")
	}
}

// privilegeNote says that this process may not record.
func privilegeNote() []string {
	have, err := proc.ReadCapabilities()
	if err != nil || have.Has(proc.CapBPF) && have.Has(proc.CapPerfmon) {
		return nil
	}
	return []string{"recording needs root, and this process may not; what loading the programs would report is not known"}
}
