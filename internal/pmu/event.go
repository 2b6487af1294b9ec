package pmu

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
	// CPUs are those on which the event can be opened, as a list like 0-3,8; "": all. One of a PMU outside the CPUs has few.
	CPUs string
}

// IsUncore reports whether the event counts what several CPUs do, so that no thread can be named for it.
func (e *Event) IsUncore() bool { return e.CPUs != "" }

// IsClock reports whether the event counts nanoseconds by a timer of the kernel's own.
func (e *Event) IsClock() bool {
	return e.Attr.Type == TypeSoftware && (e.Attr.Config == softwareCPUClock || e.Attr.Config == softwareTaskClock)
}
