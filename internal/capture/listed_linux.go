package capture

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"wprof/bpf"
	"wprof/docs"
	"wprof/format"
	"wprof/internal/glob"
	"wprof/internal/sources"
	"wprof/internal/tracepoint"
)

// listed is a source as --list shows it.
type listed struct {
	Name  string `json:"source"`
	Flag  string `json:"flag"`
	Group string `json:"group,omitempty"` // a word of -f that switches it on with others
	On    bool   `json:"default"`
	Shows string `json:"shows"`
	Here  string `json:"here"` // yes, partly, no
	Why   string `json:"why,omitempty"`
	Cost  *cost  `json:"cost"` // nil: not measured

	programs []string          // whose time is that of its events
	kinds    []format.Kind     // of its events
	types    []string          // names of its events' types
	byGroup  bool              // types are groups of them
	noBytes  bool              // the events' bytes are another source's
	needed   []string          // programs without which it is not there
	wanted   []sources.Program // without which it is there in part
}

// cost is what an event of a source costs.
type cost struct {
	Ns     float64 `json:"ns_per_event"`     // of the kernel programs
	Bytes  float64 `json:"bytes_per_event"`  // in the stream, before compression; 0: not known
	Events uint64  `json:"events,omitempty"` // that were measured just now
	On     string  `json:"measured_on,omitempty"`
}

// listSources returns all sources, in the order of the manual.
func listSources() []*listed {
	var all []*listed
	for _, g := range format.Groups() {
		l := &listed{Name: g.Name, Flag: "-f " + g.Name, On: !g.Off, Shows: g.Doc}
		l.programs = bpf.ProgramsOf(g.Group)
		l.needed = l.programs
		for _, k := range format.Kinds() {
			if k.Group == g.Group && k.Follows == 0 && k.Kind != format.KindTyped && k.Kind != format.KindLost {
				l.kinds = append(l.kinds, k.Kind)
			}
		}
		switch g.Group {
		case format.GroupSamples:
			l.Flag += ", -S " + nameTimer + "[=RATE]"
			l.Shows = "samples of each busy CPU, with stacks"
		case format.GroupWaits:
			l.programs, l.kinds = nil, nil
			l.Shows += "; the programs are those of " + nameOffCPU
		}
		all = append(all, l)
	}
	all = append(all,
		&listed{Name: nameOffCPU, Flag: "-S " + nameOffCPU, On: true, Shows: "stacks of threads that were off-CPU for --offcpu-min or longer; ns for each switch",
			programs: bpf.ReturnPrograms(), kinds: []format.Kind{format.KindSwitch}, noBytes: true},
		&listed{Name: nameWaker, Flag: "-S " + nameWaker, Shows: "stacks of wakers; the program is that of wakeup"},
		&listed{Name: namePMU, Flag: "-S " + namePMU + "=EVENT[@RATE]", Shows: "samples of events of performance counters and of tracepoints, with stacks"},
	)
	all = append(all, listFeatures()...)
	all = append(all, &listed{Name: pythonFeature, Flag: "-f " + pythonFeature + "[=PID|NAME]", Shows: "functions of Python 3.8 to 3.15 in user stacks"},
		&listed{Name: rubyFeature, Flag: "-f " + rubyFeature + "[=PID|NAME]", Shows: "methods of Ruby 3.1 and 3.3 in user stacks"})
	return append(all, &listed{Name: tracepoint.Feature, Flag: "-f " + tracepoint.Feature + "=GROUP:NAME", Shows: "any tracepoint, with all its fields",
		programs: bpf.TracepointPrograms(), types: []string{measuredTracepoint}})
}

// listFeatures returns the sources that have event types.
func listFeatures() (all []*listed) {
	for _, t := range sources.Table() {
		i := slices.IndexFunc(all, func(l *listed) bool { return l.Name == t.Feature })
		if i < 0 {
			i = len(all)
			l := &listed{Name: t.Feature, Flag: "-f " + t.Feature}
			if t.Feature == sources.PythonCalls {
				l.Flag += "=PID|NAME"
			}
			if t.Feature == sources.Torch {
				l.Flag += "[=PID|NAME]"
			}
			if group := string(t.Def.Group); group != t.Feature {
				l.Group = group
			} else {
				l.byGroup, l.types = true, []string{group}
			}
			all = append(all, l)
		}
		l := all[i]
		if l.Shows == "" {
			l.Shows = t.Doc
		}
		if !l.byGroup {
			l.types = append(l.types, string(t.Def.Name))
		}
		for _, p := range t.Programs {
			if slices.Contains(l.programs, p.Name) || p.AtClose || p.Second != "" {
				continue
			}
			l.programs = append(l.programs, p.Name)
			if p.Optional {
				l.wanted = append(l.wanted, p)
			} else {
				l.needed = append(l.needed, p.Name)
			}
		}
	}
	return all
}

// find sets whether the kernel has the source.
func (l *listed) find(kernel *bpf.Preloaded) {
	l.Here = "yes"
	if (l.Name == pythonFeature || l.Name == rubyFeature || l.Name == sources.PythonCalls || l.Name == sources.Torch) && runtime.GOARCH != "amd64" {
		l.Here, l.Why = "no", "frames and calls of Python, and operators of PyTorch, are recorded on x86-64 only"
	}
	for _, program := range l.needed {
		if err := kernel.Lacks(program); err != nil {
			l.Here, l.Why = "no", err.Error()
			return
		}
	}
	missing := missingOf(l.wanted, func(program string) bool { return kernel.Lacks(program) == nil })
	if len(missing) > 0 {
		l.Here, l.Why = "partly", "this kernel lacks the tracepoints of "+strings.Join(missing, ", ")
	}
}

// missingOf returns the optional programs that a kernel lacks, and that no other one stands for.
func missingOf(wanted []sources.Program, has func(program string) bool) (missing []string) {
	for _, p := range wanted {
		if !has(p.Name) && (p.Instead == "" || !has(p.Instead)) {
			missing = append(missing, p.Name)
		}
	}
	return missing
}

// lookUp sets the published cost.
func (l *listed) lookUp(figures map[string]docs.Figure) {
	if f, ok := figures[docs.CostOf(l.Name)]; ok {
		l.Cost = &cost{Ns: f.Median(), Bytes: figures[docs.BytesOf(l.Name)].Median(), On: strings.TrimSuffix(f.Machine, ".")}
	}
}

// matches reports whether a glob selects the source; "": it does.
func (l *listed) matches(pattern string) bool {
	return pattern == "" || slices.ContainsFunc([]string{l.Name, l.Group}, func(name string) bool { return name != "" && glob.Match(pattern, []byte(name)) })
}

// costText is a number of ns or bytes.
func (c *cost) text() (ns, bytes string) {
	switch {
	case c == nil:
		return "not measured", "–"
	case c.Bytes == 0:
		return fmt.Sprintf("%.0f", c.Ns), "–"
	}
	return fmt.Sprintf("%.0f", c.Ns), fmt.Sprintf("%.1f", c.Bytes)
}
