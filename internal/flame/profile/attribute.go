package profile

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unique"
)

// A timer samples every CPU at equal distances, so each sample stands for the same time on the CPU, whatever the length of the
// intervals between switches. With Options.Spread a thread's on-CPU time is therefore divided among its samples in proportion, when a
// view is made: a view of a range of time divides the time in it among the samples in it.
//
// A thread that was on the CPU for a few periods of the timer has few samples or none. Where a view merges threads, such
// threads are a pool, whose time is divided among the samples of all of them: to divide each thread's own time, and that of threads without
// samples as that of the others, would overstate what the longer ones do. Whether a thread is in the pool depends on its time, which is exact,
// and not on its samples: otherwise chance would decide which time counts how.

// alonePeriods is the number of timer periods on the CPU from which on a thread's time is divided among its own samples only: the
// probability that it has none is below 1 in 20,000.
const alonePeriods = 10

// isLarge reports whether this on-CPU time has enough samples to be divided by itself.
func (a *About) isLarge(ns int64) bool {
	period := a.Period()
	return period > 0 && ns/alonePeriods >= period
}

// Apart is what a view keeps apart.
type Apart struct {
	Threads, Processes, CPUs, Cgroups bool
}

// Quality is how well the samples of a view cover its on-CPU time.
type Quality struct {
	OnCPU      int64  // ns
	NotSampled int64  // ns of OnCPU without a stack
	Borrowed   int64  // ns of OnCPU of threads without samples, with the stacks of other threads of the same name
	Samples    uint64 // in OnCPU
	squares    float64
}

// StandardError returns the largest standard error that the share of any function in the sampled on-CPU time may have, 0 to 1: that of
// a function with half of the time. It is 0 if nothing was sampled.
func (q *Quality) StandardError() float64 {
	sampled := float64(q.OnCPU - q.NotSampled)
	if sampled <= 0 {
		return 0
	}
	return 0.5 * math.Sqrt(q.squares) / sampled
}

// add adds time that is divided among samples. The shares in it have a variance of at most 1/(4*samples).
func (q *Quality) add(ns int64, samples uint64) {
	q.squares += float64(ns) * float64(ns) / float64(samples)
}

// pool is the on-CPU time of one thread under one name, or of several, and the samples that it is divided among.
type pool struct {
	ns, unsampled int64 // unsampled: of threads without samples
	count         uint64
	samples       []cellSamples
	of            CellKey // of one of them; Shared and without CPU if they differ
	isJoined      bool    // it is of small threads, which the collector has merged
}

// cellSamples are the samples of a cell in the range of a view.
type cellSamples struct {
	cell  *Cell
	count uint64
}

// attribution divides the on-CPU time of some threads in a range of slots.
type attribution struct {
	p        *Profile
	from, to int // both 0: all time
	apart    Apart
	quality  Quality
	shares   []Cell
}

// Attribute returns the on-CPU time of threads in a range of slots, both 0 for all time, as cells without slots: one for each stack of each pool
// of threads. Their times add up to that of the threads. Without Options.Spread the threads' own cells have that already, and it
// returns none.
func (p *Profile) Attribute(threads iter.Seq[*Thread], from, to int, apart Apart) ([]Cell, Quality) {
	a := &attribution{p: p, from: from, to: to, apart: apart}
	pools := newPoolSet()
	n := 0
	for t := range threads {
		if n++; p.About.Spread {
			a.collect(t, n, pools)
		} else {
			a.rate(t)
		}
	}
	a.divideAll(pools.all)
	return a.shares, a.quality
}

// rate adds the on-CPU time of a thread whose cells were made interval by interval to the quality.
func (a *attribution) rate(t *Thread) {
	q := &a.quality
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Class != ClassOnCPU {
			continue
		}
		ns, count := c.Within(a.from, a.to), c.Count
		if ns != c.Ns { // counts of intervals are not kept by slot
			count = uint64(float64(count)*float64(ns)/float64(c.Ns) + 0.5)
		}
		q.OnCPU += ns
		q.Samples += count
		if a.p.IsNotSampled(c.Stack) {
			q.NotSampled += ns
		} else if count > 0 {
			q.add(ns, count)
		}
	}
}

// Within returns the cell's time in a range of slots, both 0 for all time.
func (c *Cell) Within(from, to int) (ns int64) {
	if to == 0 {
		return c.Ns
	}
	for _, s := range c.Slots {
		if int(s.Slot) >= from && int(s.Slot) < to {
			ns += s.Ns
		}
	}
	return ns
}

// SamplesWithin returns the number of the cell's samples in a range of slots, both 0 for all time.
func (c *Cell) SamplesWithin(from, to int) (n uint64) {
	if to == 0 {
		return c.Count
	}
	for _, s := range c.Slots {
		if int(s.Slot) >= from && int(s.Slot) < to {
			n += uint64(s.Samples)
		}
	}
	return n
}

// poolKey is what distinguishes pools: one thread, or in larger pools a process, and its name.
type poolKey struct {
	thread  int // number of the thread, from 1 on
	label   LabelID
	pid     int32
	process string
	comm    string
	cgroup  unique.Handle[Place]
	cpu     uint32
}

// poolSet is a set of pools in the order in which they were added.
type poolSet struct {
	all   []*pool
	index map[poolKey]int
}

func newPoolSet() *poolSet { return &poolSet{index: make(map[poolKey]int)} }

func (s *poolSet) pool(key poolKey, of *CellKey) *pool {
	if n, found := s.index[key]; found {
		return s.all[n]
	}
	s.index[key] = len(s.all)
	s.all = append(s.all, &pool{of: *of})
	return s.all[len(s.all)-1]
}

// collect makes a pool of each name of a thread.
func (a *attribution) collect(t *Thread, number int, pools *poolSet) {
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Class != ClassOnCPU {
			continue
		}
		ns, samples := c.Within(a.from, a.to), c.SamplesWithin(a.from, a.to)
		if ns == 0 && samples == 0 {
			continue
		}
		key := poolKey{thread: number, label: c.Label}
		if a.apart.CPUs {
			key.cpu = c.CPU
		}
		into := pools.pool(key, &c.CellKey)
		into.isJoined, into.of.Shared = t.IsMerged, t.IsMerged
		if into.of.CPU != c.CPU {
			into.of.CPU = NoCPU
		}
		into.ns += ns
		if a.p.IsNotSampled(c.Stack) { // merged threads
			into.unsampled += ns
		} else if samples > 0 {
			into.count += samples
			into.samples = append(into.samples, cellSamples{c, samples})
		}
	}
}

// keyOf returns the key of the larger pool that a pool belongs to: its process's threads of the same name, or those of all processes
// with the same name.
func (a *attribution) keyOf(of *CellKey, anyProcess bool) poolKey {
	l := &a.p.Labels[of.Label]
	key := poolKey{comm: l.Comm}
	if !anyProcess {
		key.pid, key.process = l.PID, l.Process
	}
	if a.apart.CPUs {
		key.cpu = of.CPU
	}
	if a.apart.Cgroups {
		key.cgroup = l.place
	}
	return key
}

// divideAll divides the time of the threads. Small pools become larger ones, as far as the view does not tell them apart; what has no
// samples in the end borrows those of all the others in the same largest pool.
func (a *attribution) divideAll(all []*pool) {
	if a.apart.Threads {
		for _, one := range all {
			a.divide(one, nil)
		}
		return
	}
	lenders := all
	small := a.divideLarge(all, false)
	if !a.apart.Processes {
		small = a.divideLarge(small, true)
	}
	lent := a.lent(small, lenders)
	for _, one := range small {
		a.divide(one, lent[a.keyOf(&one.of, !a.apart.Processes)])
	}
}

// divideLarge divides the time of the pools that are large enough, and returns the others, joined into larger ones.
func (a *attribution) divideLarge(all []*pool, anyProcess bool) []*pool {
	joined := newPoolSet()
	for _, one := range all {
		if one.count > 0 && !one.isJoined && a.p.About.isLarge(one.ns) {
			a.divide(one, nil)
			continue
		}
		into := joined.pool(a.keyOf(&one.of, anyProcess), &one.of)
		into.join(one)
	}
	return joined.all
}

// join adds a pool to another one.
func (p *pool) join(one *pool) {
	if one.of != p.of {
		p.of.Shared = true
		if one.of.CPU != p.of.CPU {
			p.of.CPU = NoCPU
		}
	}
	p.ns += one.ns
	p.count += one.count
	p.samples = append(p.samples, one.samples...)
	if p.unsampled += one.unsampled; one.count == 0 {
		p.unsampled += one.ns - one.unsampled
	}
}

// lent returns the samples that pools without any may borrow, by the key of the largest pools.
func (a *attribution) lent(borrowers, lenders []*pool) map[poolKey][]cellSamples {
	lent := make(map[poolKey][]cellSamples)
	for _, one := range borrowers {
		if one.count == 0 {
			lent[a.keyOf(&one.of, !a.apart.Processes)] = nil
		}
	}
	if len(lent) == 0 {
		return nil
	}
	for _, one := range lenders {
		key := a.keyOf(&one.of, !a.apart.Processes)
		if samples, wanted := lent[key]; wanted {
			lent[key] = append(samples, one.samples...)
		}
	}
	return lent
}

// divide divides the time of a pool among its samples or, if it has none, borrowed ones.
func (a *attribution) divide(one *pool, borrowed []cellSamples) {
	q := &a.quality
	q.OnCPU += one.ns
	q.Samples += one.count
	samples, isBorrowed := one.samples, one.count == 0
	if isBorrowed {
		samples = borrowed
	}
	if len(samples) == 0 {
		q.NotSampled += one.ns
		key := one.of
		key.Stack, key.Divided = a.p.NotSampled, true
		a.shares = append(a.shares, Cell{CellKey: key, Ns: one.ns})
		return
	}
	if q.Borrowed += one.unsampled; isBorrowed {
		q.Borrowed += one.ns - one.unsampled
	}
	slices.SortStableFunc(samples, func(x, y cellSamples) int {
		return cmp.Compare(a.p.FirstAlike(x.cell.Stack), a.p.FirstAlike(y.cell.Stack))
	})
	whole := division{ns: one.ns}
	for _, s := range samples {
		whole.count += s.count
	}
	q.add(one.ns, whole.count)
	for _, s := range samples {
		share := Cell{CellKey: s.cell.CellKey, Ns: whole.part(s.count), Count: s.count}
		share.Divided, share.Shared = true, one.of.Shared || isBorrowed
		if isBorrowed {
			share.Count = 0 // it counts where the sample was taken
		}
		a.shares = append(a.shares, share)
	}
}

// FirstAlike returns the first stack whose functions have the same names and lines. A pool's time is divided in the order of these, which
// decides how parts are rounded.
func (p *Profile) FirstAlike(stack NodeID) NodeID {
	if p.alike == nil {
		return stack
	}
	return p.alike[stack]
}

// findAlike finds stacks whose functions have the same names and lines. They are next to each other in the order of division, so that the
// sum of their parts is the same whether or not they are kept apart: a page merges them.
func (p *Profile) findAlike() {
	type look struct {
		kernel, python, awaiting, note bool
		text                           string
	}
	looks := make(map[look]FrameID)
	frames := make([]FrameID, len(p.Frames))
	for i := range p.Frames {
		f := &p.Frames[i]
		one := look{kernel: f.Kernel, python: f.Python, awaiting: f.Awaiting, note: f.Note}
		for _, of := range f.Functions {
			one.text += of.Name + "\x00" + of.File + "\x00" + strconv.Itoa(int(of.Line)) + "\x00"
		}
		first, found := looks[one]
		if !found {
			first = FrameID(i)
			looks[one] = first
		}
		frames[i] = first
	}
	p.alike = make([]NodeID, len(p.Nodes))
	first := make(map[nodeKey]NodeID)
	for i := 1; i < len(p.Nodes); i++ {
		key := nodeKey{p.alike[p.Nodes[i].Parent], frames[p.Nodes[i].Frame]}
		if _, found := first[key]; !found {
			first[key] = NodeID(i)
		}
		p.alike[i] = first[key]
	}
}

// division divides a time among samples so that the parts add up to it.
type division struct {
	ns    int64
	count uint64 // of all samples
	given int64  // ns of the parts so far
	done  uint64 // samples of the parts so far
}

// part returns the time for the next samples.
func (d *division) part(samples uint64) int64 {
	d.done += samples
	hi, lo := bits.Mul64(uint64(d.ns), d.done)
	until, _ := bits.Div64(hi, lo, d.count)
	ns := int64(until) - d.given
	d.given = int64(until)
	return ns
}
