package report

// totals are what a report is about: all selected threads, or one of them. Tables are nil until something is added.
type totals struct {
	c          *Collector
	time       [classes]amount
	total      int64 // ns of all classes
	interrupts parts
	samples    uint64
	byNode     map[uint32]uint64 // samples, by node of the call tree
	locks      map[*lock]*lockSum
	rings      []ring
	delays     table[delayKey]
	waits      table[waitKey]
	longest    longest
	processes  map[int32]*process
	ended      map[string]*process // ended processes beyond the limit, by name
	shorts     map[string]*shortLived
	quotas     map[uint32]*quota // by the path of the cgroup
	threads    int
	known      int      // processes
	merged     []uint64 // bitmap of the pids of those that are not in processes; nil: there are none
}

func newTotals(c *Collector) *totals {
	return &totals{c: c, byNode: make(map[uint32]uint64), locks: make(map[*lock]*lockSum), processes: make(map[int32]*process)}
}

// maxOwn bounds the threads that have a report of their own.
const maxOwn = 1 << 14

// totalsOf returns what the time of a new thread is added to.
func (c *Collector) totalsOf(t *thread) []*totals {
	if !c.o.Threads || t.of.Idle() {
		return c.onlyAll
	}
	own := c.own[t.of.Key]
	if own == nil {
		if len(c.own) >= maxOwn {
			return c.onlyAll
		}
		own = newTotals(c)
		c.own[t.of.Key] = own
	}
	return []*totals{c.all, own}
}
