package around

import (
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/probe"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
)

// recorded is what the recorders of a capture were to record, by the configurations in its sessions.
type recorded struct {
	isUnknown   bool            // a session does not say that, or says more than is known here
	features    map[string]bool // words of -f
	tracepoints []string        // patterns of GROUP:NAME, or NAME
	probes      []*probe.Definition
	samplesPMU  bool
}

// maxListedProbes is the size from which on the definitions in a header may be cut.
const maxListedProbes = 4 << 10

func (k *recorded) add(s *format.Session) {
	if s.Continues {
		return
	}
	config := make(map[string]string)
	for _, one := range s.Config {
		config[one.Key] = one.Value
	}
	words, tracepoints, _ := strings.Cut(config[format.ConfigFeatures], sources.Tracepoints+"=")
	if words == "" && tracepoints == "" {
		k.isUnknown = true
		return
	}
	if k.features == nil {
		k.features = make(map[string]bool)
	}
	for word := range strings.SplitSeq(strings.Trim(words, ","), ",") {
		k.features[word] = true
	}
	if tracepoints != "" {
		k.tracepoints = append(k.tracepoints, strings.Split(tracepoints, ",")...)
	}
	k.samplesPMU = k.samplesPMU || config[format.ConfigPMUSamples] != ""
	k.addProbes(config[format.ConfigProbes])
}

func (k *recorded) addProbes(definitions string) {
	k.isUnknown = k.isUnknown || len(definitions) >= maxListedProbes
	for text := range strings.SplitSeq(definitions, "\n") {
		if text == "" {
			continue
		}
		d, err := probe.Parse(text)
		if err != nil {
			k.isUnknown = true
			continue
		}
		k.probes = append(k.probes, d)
	}
}

// lacks returns why nothing in the capture can meet a condition, and names that may have been intended; "": something can, or that is not
// known.
func (k *recorded) lacks(c *Condition, has *Names) (reason string, near []string) {
	if k.isUnknown {
		return "", nil
	}
	switch c.What {
	case WhatOffCPU, WhatRunq:
		return k.without(format.GroupSched, "switches"), nil
	case WhatExit:
		return k.without(format.GroupTaskLife, "exits"), nil
	case WhatSource:
		return k.lacksSource(c)
	}
	if kind, isKind := kindNamed(c.Name); isKind && c.What == WhatEvent {
		return k.without(kind.Group, kind.Name), nil
	}
	isMark := c.What == WhatEvent && c.Name == string(sources.Snapshot().Name)
	if isMark || strings.ContainsAny(c.Name, "*?") || k.hasType(c) {
		return "", nil
	}
	if feature := featureOf(c); feature != "" {
		return notRecorded(feature), nil
	}
	return "nothing that was recorded is called " + c.Name, cli.Nearest(c.Name, k.names(c.What, has))
}

// featureOf returns the word of -f with which events of a condition's name are recorded; "": there is none.
func featureOf(c *Condition) string {
	for _, t := range sources.Table() {
		if c.What == WhatSpan && t.Def.Shape != uint32(format.TypeShape_SHAPE_SPAN) {
			continue
		}
		if c.Name == string(t.Def.Name) || c.Name == string(t.Def.Group) {
			return t.Feature
		}
	}
	if isCall(c.Name) {
		return sources.Calls
	}
	return ""
}

func notRecorded(feature string) string { return "wprof-record records them with -f " + feature }

// without returns that events of a group were not recorded; "": they were.
func (k *recorded) without(g format.Group, what string) string {
	if g.Name() == "" || k.features[g.Name()] {
		return ""
	}
	return what + " were not recorded (-f no-" + g.Name() + ")"
}

func kindNamed(name string) (format.KindInfo, bool) {
	all := format.Kinds()
	at := slices.IndexFunc(all, func(k format.KindInfo) bool {
		return k.Kind != format.KindTyped && k.Follows == 0 && (name == k.Name || k.JSON != "" && name == k.JSON)
	})
	if at < 0 {
		return format.KindInfo{}, false
	}
	return all[at], true
}

// hasType reports whether a type that was recorded may have the name of a condition on spans or events.
func (k *recorded) hasType(c *Condition) bool {
	isSpan := c.What == WhatSpan
	for _, t := range sources.Table() {
		if !k.features[t.Feature] || isSpan && t.Def.Shape != uint32(format.TypeShape_SHAPE_SPAN) {
			continue
		}
		if c.Name == string(t.Def.Name) || c.Name == string(t.Def.Group) || t.Feature == sources.Calls && isCall(c.Name) {
			return true
		}
	}
	if !isSpan && (k.samplesPMU || len(k.tracepoints) > 0 && k.mayBeTracepoint(c.Name)) {
		return true
	}
	return slices.ContainsFunc(k.probes, func(d *probe.Definition) bool { return mayBeProbe(d, c.Name) })
}

// isCall reports whether a name or pattern is that of a system call on any machine.
func isCall(name string) bool {
	return slices.ContainsFunc(syscalls.Machines(), func(machine string) bool { return syscalls.Has(machine, name) })
}

// mayBeTracepoint reports whether a name is that of a tracepoint that was chosen, or of the group of all.
func (k *recorded) mayBeTracepoint(name string) bool {
	_, short, _ := strings.Cut(name, ":")
	return name == sources.Tracepoints || slices.ContainsFunc(k.tracepoints, func(pattern string) bool {
		return glob.Match(pattern, []byte(name)) || glob.Match(pattern, []byte(short))
	})
}

// mayBeProbe reports whether events of a probe may have a name: its id, or that of what it probes. Without an id it has one by its text.
func mayBeProbe(d *probe.Definition, name string) bool {
	if d.Settings.ID == name || d.Settings.ID == "" && strings.Contains(d.Text, name) || strings.Contains(name, "~~") {
		return true
	}
	return slices.ContainsFunc(d.Legs, func(l probe.Leg) bool { return glob.Match(l.Target.Text, []byte(name)) })
}

// lacksSource is lacks for a condition on a source.
func (k *recorded) lacksSource(c *Condition) (reason string, near []string) {
	feature := ""
	var valid []string
	for _, t := range sources.Table() {
		if t.Def.Shape != uint32(format.TypeShape_SHAPE_SPAN) || string(t.Def.Group) != c.Word && string(t.Def.Name) != c.Word {
			continue
		}
		if feature == "" || string(t.Def.Name) == c.Word {
			feature = t.Feature
		}
		if !k.features[t.Feature] {
			continue
		}
		names, isOpen := spanNames(&t)
		if isOpen || slices.ContainsFunc(names, func(n string) bool { return glob.Match(c.Name, []byte(n)) }) {
			return "", nil
		}
		valid = append(valid, names...)
	}
	if len(valid) == 0 {
		return notRecorded(feature), nil
	}
	slices.Sort(valid)
	return "no span of " + c.Word + " is called " + c.Name, cli.Nearest(c.Name, slices.Compact(valid))
}

// spanNames returns the names that spans of a source's type may have; isOpen: others are possible.
func spanNames(t *sources.Type) (names []string, isOpen bool) {
	if t.Feature == sources.Calls {
		for _, machine := range syscalls.Machines() {
			names = append(names, syscalls.AllNames(machine)...)
		}
		return names, false
	}
	names = append(names, string(t.Def.Name))
	for _, f := range t.Def.Fields {
		if f.Hint != uint32(format.ValueHint_HINT_NAME) {
			continue
		}
		if !f.Is(format.ValueType_VALUE_ENUM) {
			return names, true
		}
		for _, n := range f.Names {
			names = append(names, string(n.Name))
		}
	}
	return names, false
}

// names returns what a condition on spans or events can be about.
func (k *recorded) names(what What, has *Names) (all []string) {
	all = slices.Clone(has.Events)
	if what == WhatSpan {
		all = slices.Clone(has.Spans)
	}
	for _, d := range k.probes {
		if d.Settings.ID != "" {
			all = append(all, d.Settings.ID)
			continue
		}
		for _, l := range d.Legs {
			all = append(all, l.Target.Text)
		}
	}
	for _, t := range sources.Table() {
		if k.features[t.Feature] && (what == WhatEvent || t.Def.Shape == uint32(format.TypeShape_SHAPE_SPAN)) {
			all = append(all, string(t.Def.Name), string(t.Def.Group))
		}
	}
	if what == WhatEvent {
		for _, info := range format.Kinds() {
			if info.Kind != format.KindTyped && info.Follows == 0 {
				all = append(all, info.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n string) bool { return n == "" })
}
