package pmu

import "strings"

// Types of events, PERF_TYPE_ of include/uapi/linux/perf_event.h. Those of other PMUs are numbers that the kernel chooses.
const (
	TypeHardware   = 0
	TypeSoftware   = 1
	TypeTracepoint = 2
	TypeCache      = 3
	TypeRaw        = 4
)

// Attr is the part of a perf_event_attr that says what is counted.
type Attr struct {
	Type    uint32
	Config  uint64
	Config1 uint64
	Config2 uint64
	Config3 uint64
	Precise uint8 // precise_ip
	Exclude
	Pinned, Exclusive bool
}

// Exclude is where events do not count.
type Exclude struct{ User, Kernel, Hypervisor, Host, Guest, Idle bool }

// Event is an event of a machine.
type Event struct {
	Name       string // that of its term name, otherwise as it was written
	Text       string // as it was written
	Attr       Attr
	MaxPrecise bool   // modifier P: as precise as the machine can
	Tracepoint string // GROUP:NAME; "": it is none
	Rate       Rate   // of its terms freq and period; zero: it has none
	// What one count stands for: Scale times Unit. Zero and "" where the PMU does not say.
	Scale float64
	Unit  string
	// Places say what is opened on which CPUs, if that is not Attr on all: a machine with several kinds of CPUs has a PMU for each kind.
	Places []Place
	Uncore bool // it counts what several CPUs share, so that no thread can be named for it
}

// Place is what is opened on some CPUs.
type Place struct {
	CPUs CPUs
	Attr Attr
}

// On returns what is opened on a CPU; nil: this kind of CPU does not have the event.
func (e *Event) On(cpu int) *Attr {
	if len(e.Places) == 0 {
		return &e.Attr
	}
	for i := range e.Places {
		if e.Places[i].CPUs.Has(cpu) {
			return &e.Places[i].Attr
		}
	}
	return nil
}

// PlacesText lists the CPUs on which it is opened; "": all.
func (e *Event) PlacesText() string {
	var all []string
	for _, p := range e.Places {
		all = append(all, p.CPUs.Text)
	}
	return strings.Join(all, ",")
}

// unitNs is the unit of clocks, which no folder has.
const unitNs = "ns"

// IsClock reports whether the event counts nanoseconds by a timer of the kernel's own.
func (e *Event) IsClock() bool {
	return e.Attr.Type == TypeSoftware && (e.Attr.Config == softwareCPUClock || e.Attr.Config == softwareTaskClock)
}
