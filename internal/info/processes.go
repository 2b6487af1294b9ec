package info

import (
	"cmp"
	"slices"

	"wprof/format"
)

// maxProcesses bounds the accounts of a recording of many epochs: one that runs for a week sees millions of processes.
const maxProcesses = 1 << 14

// addProcesses takes an epoch's accounts in.
func (r *Recording) addProcesses(all []*format.ProcessTime) {
	r.Processes = append(r.Processes, all...)
	if len(r.Processes) > 2*maxProcesses {
		r.sumProcesses()
	}
}

// sumProcesses adds up what the epochs tell of one process, and keeps those with most time.
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
	if len(sums) > maxProcesses {
		r.Others += len(sums) - maxProcesses
		sums = sums[:maxProcesses]
	}
	clear(r.Processes[len(sums):])
	r.Processes = sums
}
