package info

import (
	"cmp"
	"math"

	"wprof/format"
)

// CountersReport is what counters counted while threads were on CPUs.
type CountersReport struct {
	All       bool                 `json:"all"`
	Total     []CounterReport      `json:"total"`
	CPUs      []CPUCountReport     `json:"cpus"`
	Processes []ProcessCountReport `json:"processes"`
	Threads   []ThreadCountReport  `json:"threads"`
	Estimates uint64               `json:"estimates"`
	NotKnown  uint64               `json:"not_known"`
}

// CounterReport is the value of a counter or of a derived metric.
type CounterReport struct {
	Name  string   `json:"name"`
	Unit  *string  `json:"unit"`
	Value *float64 `json:"value"`
}

// CPUCountReport is what was counted on a CPU.
type CPUCountReport struct {
	CPU    uint32          `json:"cpu"`
	Values []CounterReport `json:"values"`
}

// ProcessCountReport is what a process caused.
type ProcessCountReport struct {
	PID    int32           `json:"pid"`
	Comm   string          `json:"comm"`
	Values []CounterReport `json:"values"`
}

// ThreadCountReport is what a thread caused.
type ThreadCountReport struct {
	TID    int32           `json:"tid"`
	PID    int32           `json:"pid"`
	Comm   string          `json:"comm"`
	Values []CounterReport `json:"values"`
}

func (r *Recording) countersReport() *CountersReport {
	c := r.Counts
	if c == nil {
		return nil
	}
	counters := format.NewCounters(r.Session)
	values := func(sum *CountSum) []CounterReport { return counterReports(counters, sum.values(counters)) }
	return &CountersReport{
		All: c.all, Total: values(&c.Total), Estimates: c.Scaled, NotKnown: c.Unknown,
		CPUs: converted(c.ByCPU.sorted(cmp.Compare[uint32]), func(cpu uint32) CPUCountReport { return CPUCountReport{cpu, values(c.ByCPU[cpu])} }),
		Processes: converted(c.processes(counters), func(p countedProcess) ProcessCountReport {
			return ProcessCountReport{p.PID, p.Comm, counterReports(counters, p.values)}
		}),
		Threads: converted(c.ByThread.sorted(compareThreads), func(t ThreadKey) ThreadCountReport {
			return ThreadCountReport{t.TID, t.PID, t.Comm, values(c.ByThread[t])}
		}),
	}
}

func compareThreads(a, b ThreadKey) int {
	return cmp.Or(cmp.Compare(a.TID, b.TID), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Comm, b.Comm))
}

func counterReports(of *format.Counters, values []float64) []CounterReport {
	all := make([]CounterReport, len(values))
	for i, v := range values {
		all[i] = CounterReport{Name: of.List[i].GetName(), Unit: orNull(of.List[i].GetUnit())}
		if !math.IsNaN(v) {
			all[i].Value = &values[i]
		}
	}
	return all
}
