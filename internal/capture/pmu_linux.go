package capture

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/pmu"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/tracefs"
	"wprof/internal/tracepoint"
)

// pmuSample is an event of performance counters that -S samples.
type pmuSample struct {
	spec *pmu.Spec
	rate pmu.Rate // zero: the default
}

// String is the event as it is written after -Spmu=.
func (s pmuSample) String() string {
	if s.rate.IsZero() {
		return s.spec.Text
	}
	return s.spec.Text + "@" + s.rate.String()
}

// parsePMUSample reads EVENT@RATE.
func parsePMUSample(text string) (s pmuSample, err error) {
	if text == "" {
		return s, fmt.Errorf("%s needs an event, as in %s=cache-misses@1000hz", namePMU, namePMU)
	}
	if strings.HasPrefix(text, pmu.DerivedPrefix) {
		return s, errSampledMetric(text)
	}
	event, rate, err := pmu.CutRate(text)
	if err != nil {
		return s, err
	}
	s.rate = rate
	s.spec, err = pmu.Parse(event)
	return s, err
}

func errSampledMetric(name string) error {
	return fmt.Errorf("%q is a metric of two events, and only an event can be sampled", name)
}

// pmuMachine describes the events of this machine. The result of close may be ignored.
func pmuMachine() (m *pmu.Machine, close func() error) {
	m, close = &pmu.Machine{PMUs: os.DirFS("/sys/bus/event_source/devices")}, func() error { return nil }
	if points, err := tracefs.Open(); err == nil {
		m.Tracepoints, close = points, points.Close
	}
	return m, close
}

// planPMU finds what the events of -Spmu are on this machine, and defines the types of their samples.
func planPMU(cfg *Config) error {
	if len(cfg.Stacks.PMU)+len(cfg.PMUEvents.specs)+len(cfg.PMUEvents.metrics) == 0 {
		return nil
	}
	machine, done := pmuMachine()
	defer done()
	counted, err := planCounters(machine, &cfg.PMUEvents)
	if err != nil {
		return cli.Usagef("--pmu: %w", err)
	}
	cfg.Counters, cfg.Kernel.Counters = counted.shown, counted.events
	if err := cfg.Kernel.CheckCounters(); err != nil {
		return cli.Usagef("--pmu: %w", err)
	}
	cfg.PMUTypes, cfg.Kernel.PMU = nil, nil
	for _, s := range cfg.Stacks.PMU {
		declared, err := cfg.PMUEvents.specOf(s.spec.Text)
		if err != nil {
			return cli.Usagef("--stacks: %w", err)
		}
		if declared != nil {
			s.spec = declared
		}
		event, err := machine.Resolve(s.spec)
		if err != nil {
			return cli.Usagef("--stacks: %w", err)
		}
		number := len(cfg.Kernel.Tracepoints) + len(cfg.ProbeTypes) + len(cfg.PMUTypes)
		if number >= tracepoint.MaxTracepoints {
			return cli.Usagef("--stacks: too many tracepoints, probes and events: at most %d can be recorded at once", tracepoint.MaxTracepoints)
		}
		if event.Tracepoint != "" && slices.ContainsFunc(cfg.Kernel.PMU, func(have bpf.PMUSample) bool { return have.Event.Tracepoint == event.Tracepoint }) {
			return cli.Usagef("--stacks: the tracepoint %s is sampled already: leave one out", event.Tracepoint)
		}
		typed, err := pmuType(event, len(cfg.Kernel.Counters))
		if err != nil {
			return cli.Usagef("--stacks: %w", err)
		}
		if slices.ContainsFunc(cfg.PMUTypes, func(t *tracepoint.Tracepoint) bool { return t.Name == typed.Name }) {
			return cli.Usagef("--stacks: two events are called %q: give one another name, as in %s/name=NAME/", event.Name, s.spec.Text)
		}
		cfg.PMUTypes = append(cfg.PMUTypes, typed)
		cfg.Kernel.PMU = append(cfg.Kernel.PMU, bpf.PMUSample{Event: event, Rate: rateOf(s, event), Type: uint32(number)})
	}
	err = cfg.Kernel.CheckPMU()
	var unsupported *bpf.Unsupported
	if err != nil && !errors.As(err, &unsupported) {
		return cli.Usagef("--stacks: %w", err)
	}
	return err
}

// rateOf returns the rate of an event: what was given, else that of its terms, else every hit of a tracepoint, else the default.
func rateOf(s pmuSample, e *pmu.Event) pmu.Rate {
	switch {
	case !s.rate.IsZero():
		return s.rate
	case !e.Rate.IsZero():
		return e.Rate
	case e.Tracepoint != "":
		return pmu.Rate{Period: 1}
	}
	return pmu.Rate{Frequency: pmu.DefaultFrequency}
}

// pmuType is the event type of an event's samples, with the places of struct rec_pmu_sample and of what a number of counters has counted.
func pmuType(e *pmu.Event, counters int) (*tracepoint.Tracepoint, error) {
	def := &format.EventType{
		Name: []byte(e.Name), Group: []byte(format.GroupPMU), On: uint32(format.TypeTrack_TRACK_THREAD), Track: []byte(e.Name), Colour: []byte(e.Name),
		Shape: uint32(format.TypeShape_SHAPE_INSTANT),
		Fields: []*format.TypeField{
			{Name: []byte("stack"), Type: uint32(format.ValueType_VALUE_STACK)},
			{Name: []byte(format.FieldPeriod), Type: uint32(format.ValueType_VALUE_UINT)},
		},
	}
	places := []tracepoint.Place{{Offset: ringdata.PmuSampleStacks, Size: 8}, {Offset: ringdata.PmuSamplePeriod, Size: 8}}
	if counters > 0 {
		def.Fields = append(def.Fields, sources.Counts())
		places = append(places, tracepoint.Place{Offset: ringdata.PmuSampleSize, Size: ringdata.CountsPartSize + 8*counters})
	}
	if problem := def.Problem(); problem != "" {
		return nil, errors.New(problem)
	}
	return &tracepoint.Tracepoint{Group: format.GroupPMU, Name: e.Name, Layout: tracepoint.Layout{Def: def, Places: places}}, nil
}

// pmuSamples describes the events that are sampled: page-faults@period=1.
func (cfg *Config) pmuSamples() string {
	var all []string
	for _, s := range cfg.Kernel.PMU {
		all = append(all, valid(s.Event.Text)+"@"+s.Rate.String())
	}
	return strings.Join(all, " ")
}
