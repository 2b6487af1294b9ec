package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/pmu"
)

// PMUFlag is --pmu.
func PMUFlag() cli.Flag {
	return cli.Flag{
		Name: "pmu", Kind: cli.List, Value: "EVENT", Check: checkCounter,
		Usage: fmt.Sprintf("Count an event of performance counters, separately for each time that a thread is on a CPU, for each interrupt and work item (-f irq), and up to each sample. EVENT is written as for perf: "+
			"cycles:u, LLC-load-misses, r003c, cpu/event=0x3c,umask=1/, page-faults, sched:sched_switch. derived:NAME=EVENT/EVENT is one event divided by another, as in "+
			"derived:ipc=instructions/cycles. Up to %d events. -Spmu=EVENT samples one.", bpf.MaxCounters),
	}
}

// counterPlan is what --pmu requests: events, and metrics of them.
type counterPlan struct {
	specs   []*pmu.Spec
	metrics []*pmu.Derived
}

func checkCounter(value string) error { return new(counterPlan).add(value) }

func (p *counterPlan) add(value string) error {
	if strings.HasPrefix(value, pmu.DerivedPrefix) {
		metric, err := pmu.ParseDerived(value)
		if err == nil {
			p.metrics = append(p.metrics, metric)
		}
		return err
	}
	event, rate, err := pmu.CutRate(value)
	if err != nil {
		return err
	}
	if !rate.IsZero() {
		return fmt.Errorf("%q: what is counted has no rate: leave out @%s, or sample it with -S%s=%s", value, rate, namePMU, value)
	}
	spec, err := pmu.Parse(event)
	if err == nil {
		p.specs = append(p.specs, spec)
	}
	return err
}

// counters are the events of --pmu on this machine, and their metrics.
type counters struct {
	machine *pmu.Machine
	events  []*pmu.Event
	shown   []*format.Counter // events, then metrics
}

// planCounters finds what the events of --pmu are on this machine.
func planCounters(machine *pmu.Machine, p *counterPlan) (*counters, error) {
	c := &counters{machine: machine}
	for _, spec := range p.specs {
		if _, err := c.add(spec, false); err != nil {
			return nil, err
		}
	}
	var metrics []*format.Counter
	for _, d := range p.metrics {
		over, err := c.place(d.Over)
		if err != nil {
			return nil, err
		}
		under, err := c.place(d.Under)
		if err != nil {
			return nil, err
		}
		metrics = append(metrics, &format.Counter{Name: valid(d.Name), Over: over, Under: under})
	}
	c.shown = append(c.shown, metrics...)
	for i, one := range c.shown {
		if slices.ContainsFunc(c.shown[:i], func(have *format.Counter) bool { return have.Name == one.Name }) {
			return nil, fmt.Errorf("two counters are called %q: give one another name, as in EVENT/name=NAME/", one.Name)
		}
	}
	return c, nil
}

// add adds an event, and returns its place from 1.
func (c *counters) add(spec *pmu.Spec, known bool) (uint32, error) {
	event, err := c.machine.Resolve(spec)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(c.events, func(have *pmu.Event) bool { return known && have.Attr == event.Attr }); i >= 0 {
		return uint32(i + 1), nil
	}
	c.events = append(c.events, event)
	shown := &format.Counter{Name: valid(event.Name), Event: valid(event.Text), Unit: valid(event.Unit)}
	if event.Scale != 0 {
		shown.Scale = strconv.FormatFloat(event.Scale, 'g', -1, 64)
	}
	c.shown = append(c.shown, shown)
	return uint32(len(c.events)), nil
}

// place returns the place of an event of a metric by its name, from 1. One that is not counted yet is added.
func (c *counters) place(name string) (uint32, error) {
	if i := slices.IndexFunc(c.events, func(have *pmu.Event) bool { return have.Name == name }); i >= 0 {
		return uint32(i + 1), nil
	}
	spec, err := pmu.Parse(name)
	if err != nil {
		return 0, err
	}
	return c.add(spec, true)
}

// specOf returns the event that --pmu declares by a name; nil: none.
func (p *counterPlan) specOf(name string) (*pmu.Spec, error) {
	for _, d := range p.metrics {
		if d.Name == name {
			return nil, errSampledMetric(name)
		}
	}
	for _, spec := range p.specs {
		for _, t := range spec.Terms {
			if t.Name == "name" && t.Value == name {
				return spec, nil
			}
		}
	}
	return nil, nil
}
