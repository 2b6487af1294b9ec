package report

import "cmp"

// delayKey identifies the delays of a process by another one.
type delayKey struct {
	of, by         int32
	ofName, byName uint32
	preempted      bool
}

func compareDelays(a, b delayKey) int {
	return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.by, b.by), cmp.Compare(a.ofName, b.ofName), cmp.Compare(a.byName, b.byName))
}

func (o *totals) delayTable() []Delay {
	rows := []Delay{}
	c, keys := o.c, o.delays.sorted(compareDelays)
	for _, key := range keys[:min(c.o.Limit, len(keys))] {
		s := o.delays.all[key]
		rows = append(rows, Delay{
			Process: c.names.text[key.ofName], PID: key.of, By: c.names.text[key.byName], ByPID: key.by, Preempted: key.preempted,
			Ns: s.Ns, Count: s.Count, LongestNs: s.longest,
		})
	}
	return rows
}
