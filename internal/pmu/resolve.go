package pmu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Resolve finds out what perf_event_open(2) takes for an event.
func (m *Machine) Resolve(s *Spec) (*Event, error) {
	e := &Event{Text: s.Text, Name: s.Text}
	err := m.resolve(s, e)
	if err == nil && e.IsClock() {
		e.Unit = unitNs
	}
	if err == nil {
		err = e.applyModifiers(s.Modifiers)
	}
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", clip(s.Text), err)
	}
	return e, nil
}

func (m *Machine) resolve(s *Spec, e *Event) (err error) {
	switch {
	case s.PMU != "":
		return m.resolvePMU(s.PMU, s.Terms, e)
	case s.Raw:
		e.Attr.Type, e.Attr.Config = TypeRaw, s.Config
	case s.Number:
		e.Attr.Type, e.Attr.Config = s.Type, s.Config
	case s.Group != "":
		e.Attr.Type, e.Tracepoint = TypeTracepoint, s.Group+":"+s.Name
		if e.Attr.Config, err = m.tracepointID(s.Group, s.Name); err != nil {
			return err
		}
	default:
		if g, ok := genericOf(s.Name); ok {
			e.Attr.Type, e.Attr.Config = g.kind, g.config
		} else if config, ok := cacheConfig(s.Name); ok {
			e.Attr.Type, e.Attr.Config = TypeCache, config
		} else {
			return m.resolveNamed(s.Name, e)
		}
	}
	r := resolution{event: e}
	if err := r.apply(s.Terms); err != nil {
		return err
	}
	return m.placeGeneric(e)
}

// resolveNamed resolves a plain word that no table has: an event that a PMU describes.
func (m *Machine) resolveNamed(name string, e *Event) error {
	pmus, err := m.pmusOf(name)
	if err != nil {
		return err
	}
	if len(pmus) == 0 {
		if one, rest, several := strings.Cut(name, ","); several && one != "" && rest != "" {
			return errors.New("several events are several flags, as --pmu page-faults --pmu context-switches")
		}
		return fmt.Errorf("there is no such event; %s", suggest(name, m.allEvents()))
	}
	all := make([]Event, len(pmus))
	var places []Place
	for i, pmu := range pmus {
		all[i] = *e
		if err := m.resolvePMU(pmu, []Term{{Name: name}}, &all[i]); err != nil {
			return err
		}
		places = append(places, all[i].Places...)
	}
	*e = all[0]
	e.Places = places
	return nil
}

func (m *Machine) resolvePMU(pmu string, terms []Term, e *Event) (err error) {
	if !m.has(pmu) {
		return fmt.Errorf("this machine has no PMU %s; %s", clip(pmu), suggest(pmu, m.names(".")))
	}
	if e.Attr.Type, err = m.kind(pmu); err != nil {
		return err
	}
	if e.Attr.Type == TypeTracepoint {
		return fmt.Errorf("write tracepoints as GROUP:NAME, as in sched:sched_switch")
	}
	r := resolution{machine: m, pmu: pmu, event: e, given: terms}
	if err := r.apply(terms); err != nil {
		return err
	}
	return m.placePMU(pmu, e)
}

// resolution collects what the terms of an event come to.
type resolution struct {
	machine *Machine // nil: the event has no PMU with terms of its own
	pmu     string
	event   *Event
	given   []Term
	fields  map[string]value
	words   [4]uint64
}

// value is that of a term of the PMU's own.
type value struct {
	field
	number uint64
}

func (r *resolution) apply(terms []Term) error {
	a := &r.event.Attr
	r.words = [4]uint64{a.Config, a.Config1, a.Config2, a.Config3}
	r.fields = make(map[string]value)
	for _, t := range terms {
		if err := r.term(t, false); err != nil {
			return err
		}
	}
	for _, v := range r.fields {
		r.words[v.word] |= v.spread(v.number)
	}
	a.Config, a.Config1, a.Config2, a.Config3 = r.words[0], r.words[1], r.words[2], r.words[3]
	return nil
}

// term applies one term. Within the description of an event there are no other descriptions.
func (r *resolution) term(t Term, described bool) error {
	if known, err := r.commonTerm(t); known {
		return err
	}
	if r.machine == nil {
		return fmt.Errorf("unknown term %s; %s", clip(t.Name), suggest(t.Name, commonTerms()))
	}
	if slices.Contains(r.machine.names(r.pmu+"/format"), t.Name) {
		return r.fieldTerm(t)
	}
	if config := parseRaw(t.Name); config != nil && !t.HasValue {
		r.words[0] = *config
		return nil
	}
	if name := describedName(t); name != "" && !described {
		for _, event := range r.machine.events(r.pmu) {
			if strings.EqualFold(event, name) {
				return r.description(event)
			}
		}
	}
	if known, err := r.genericTerm(t); known || err != nil {
		return err
	}
	valid := slices.Concat(r.machine.names(r.pmu+"/format"), r.machine.events(r.pmu), commonTerms())
	return fmt.Errorf("the PMU %s has no term %s; %s", r.pmu, clip(t.Name), suggest(t.Name, valid))
}

// genericTerm applies a term that is an event of the kernel's tables, to be counted by the PMU of one kind of CPUs: cpu_core/cycles/.
func (r *resolution) genericTerm(t Term) (known bool, err error) {
	if t.HasValue {
		return false, nil
	}
	a := &r.event.Attr
	kind, config := uint32(TypeHardware), uint64(0)
	if g, ok := genericOf(t.Name); ok && g.kind == TypeHardware {
		config = g.config
	} else if config, ok = cacheConfig(t.Name); ok {
		kind = TypeCache
	} else {
		return false, nil
	}
	cores, err := r.machine.cores()
	isCore := slices.ContainsFunc(cores, func(c corePMU) bool { return c.name == r.pmu })
	switch {
	case err != nil || !isCore && r.pmu != "cpu":
		return false, err
	case needExtension(cores):
		config |= uint64(a.Type) << extendedShift
	}
	a.Type, r.words[0] = kind, config
	return true, nil
}

// describedName is the name of the event that a term is: cpu-cycles, or event=cpu-cycles.
func describedName(t Term) string {
	switch {
	case !t.HasValue:
		return t.Name
	case strings.EqualFold(t.Name, "event"):
		return t.Value
	}
	return ""
}

func commonTerms() []string { return append(configWords(), "name", "period", "freq") }

// commonTerm applies a term that all events have.
func (r *resolution) commonTerm(t Term) (known bool, err error) {
	if !slices.Contains(commonTerms(), t.Name) {
		return false, nil
	}
	if !t.HasValue {
		return true, fmt.Errorf("the term %s has no value", t.Name)
	}
	if t.Name == "name" {
		if len(t.Value) > maxName {
			return true, fmt.Errorf("the name is longer than %d bytes", maxName)
		}
		r.event.Name = t.Value
		return true, nil
	}
	number, err := parseNumber(t.Value)
	if err != nil {
		return true, fmt.Errorf("%s=%s: the value is no number", t.Name, clip(t.Value))
	}
	switch t.Name {
	case "period":
		r.event.Rate = Rate{Period: number}
		return true, r.event.Rate.check()
	case "freq":
		r.event.Rate = Rate{Frequency: number}
		return true, r.event.Rate.check()
	}
	r.words[configWord(t.Name)] = number
	return true, nil
}

// fieldTerm applies a term that the PMU's folder format has.
func (r *resolution) fieldTerm(t Term) error {
	if number, err := parseNumber(t.Value); t.HasValue && err != nil && t.Name == "event" {
		if name := describedName(t); slices.Contains(r.machine.events(r.pmu), name) {
			return r.description(name)
		}
	} else if !t.HasValue {
		return r.setField(t.Name, 1)
	} else if err == nil {
		return r.setField(t.Name, number)
	}
	if t.Value == "?" {
		for _, given := range r.given {
			if given.Name == t.Name && given.Value != "?" {
				return nil // it is applied by itself
			}
		}
		return fmt.Errorf("the event needs a value for %s: add %s=NUMBER between the slashes", t.Name, t.Name)
	}
	return fmt.Errorf("%s=%s: the value is no number", t.Name, clip(t.Value))
}

func (r *resolution) setField(name string, number uint64) error {
	text, err := r.machine.read(r.pmu, "format", name)
	if err != nil {
		return fmt.Errorf("read the term %s of the PMU %s: %w", name, r.pmu, err)
	}
	f, err := parseField(text)
	if err != nil {
		return fmt.Errorf("the term %s of the PMU %s: %w", name, r.pmu, err)
	}
	if number > f.most() {
		return fmt.Errorf("%s=%#x is too large: the largest value is %#x", name, number, f.most())
	}
	r.fields[name] = value{f, number}
	return nil
}

// description applies the terms in a file of the folder events, and takes over its scale and unit.
func (r *resolution) description(event string) error {
	text, err := r.machine.read(r.pmu, "events", event)
	if err != nil {
		return fmt.Errorf("read the event %s of the PMU %s: %w", event, r.pmu, err)
	}
	terms, err := parseTerms(text)
	if err != nil {
		return fmt.Errorf("the event %s of the PMU %s, %q: %w", event, r.pmu, clip(text), err)
	}
	given := r.fields
	r.fields = make(map[string]value)
	for _, t := range terms {
		if err := r.term(t, true); err != nil {
			return fmt.Errorf("the event %s of the PMU %s, %q: %w", event, r.pmu, clip(text), err)
		}
	}
	for name, v := range given { // what is written by hand wins
		r.fields[name] = v
	}
	if unit, err := r.machine.read(r.pmu, "events", event+".unit"); err == nil && len(unit) <= maxName {
		r.event.Unit = unit
	}
	if text, err := r.machine.read(r.pmu, "events", event+".scale"); err == nil {
		scale, err := strconv.ParseFloat(text, 64)
		if err != nil || !(scale > 0 && scale < 1e300) {
			return fmt.Errorf("the event %s of the PMU %s has the scale %q, which is no positive number", event, r.pmu, clip(text))
		}
		r.event.Scale = scale
	}
	return nil
}
