package info

import (
	"cmp"
	"slices"

	"wprof/format"
)

// addProcesses adds an epoch's CPU times. The bound of one end block also holds for a recording of many epochs: one
// that runs for a week sees millions of processes.
func (r *Recording) addProcesses(all []*format.ProcessTime) {
	r.Processes = append(r.Processes, all...)
	if len(r.Processes) > 2*format.MaxProcesses {
		r.sumProcesses()
	}
}

// sumProcesses adds up the epochs' times of each process, and keeps the processes with most time.
func (r *Recording) sumProcesses() {
	byKey := func(a, b *format.ProcessTime) int {
		return cmp.Or(cmp.Compare(a.Pid, b.Pid), cmp.Compare(a.Start, b.Start))
	}
	slices.SortStableFunc(r.Processes, byKey)
	sums := r.Processes[:0]
	for _, p := range r.Processes {
		if n := len(sums); n > 0 && byKey(sums[n-1], p) == 0 {
			sums[n-1].Ns = format.Sum(sums[n-1].Ns, p.Ns)
			sums[n-1].Comm = p.Comm
			continue
		}
		sums = append(sums, p)
	}
	slices.SortStableFunc(sums, func(a, b *format.ProcessTime) int { return cmp.Compare(b.Ns, a.Ns) })
	if len(sums) > format.MaxProcesses {
		r.Others += len(sums) - format.MaxProcesses
		sums = sums[:format.MaxProcesses]
	}
	clear(r.Processes[len(sums):])
	r.Processes = sums
}
