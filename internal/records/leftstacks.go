package records

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/timeline"
)

// LeftStacks are the stacks with which threads left their CPUs. In a stream they come with the switch that ends the time off the CPU, so
// that the switch at which it began needs a reading of its own.
type LeftStacks struct {
	all     []leftStack // by time, then by tid
	Dropped int64       // stacks beyond the bound
}

type leftStack struct {
	at    int64 // as Record.Time
	stack int64 // as Stack.ID
	tid   int32
}

// maxLeftStacks bounds their memory to 96 MiB.
const maxLeftStacks = 4 << 20

// CollectLeftStacks reads a stream to its end. What it found before an error counts.
func CollectLeftStacks(r *format.Reader) (*LeftStacks, error) {
	l := &LeftStacks{}
	m := NewMaker(r, Options{Kinds: []Kind{Switch}}, func(r *Record) error {
		switch {
		case r.Lacks(SwitchOffCPUStack) || r.Lacks(SwitchOffCPU):
		case len(l.all) >= maxLeftStacks:
			l.Dropped++
		default:
			l.all = append(l.all, leftStack{r.Time - r.Values[slotOffCPU], r.Values[slotStack], r.Tasks[1].TID})
		}
		return nil
	})
	err := timeline.Visit(r, m)
	slices.SortFunc(l.all, leftStack.compare)
	return l, err
}

func (a leftStack) compare(b leftStack) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.tid, b.tid))
}

// fill replaces a switch's stack by that of the thread which leaves the CPU.
func (l *LeftStacks) fill(r *Record) {
	r.Has &^= 1 << SwitchOffCPUStack
	i, found := slices.BinarySearchFunc(l.all, leftStack{at: r.Time, tid: r.Tasks[0].TID}, leftStack.compare)
	if found && r.Tasks[0].TID > 0 {
		r.Values[slotStack] = l.all[i].stack
		r.Has |= 1 << SwitchOffCPUStack
	}
}
