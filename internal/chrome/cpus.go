package chrome

import (
	"strconv"

	"wprof/format"
)

// cpus holds the rows of CPUs.
type cpus struct {
	rows  []*cpuRow
	nodes map[uint32]int32
}

type cpuRow struct {
	place []byte // `4194321,"ts":`
	whole []byte // the same with the pid before it
	node  []byte // `,"numa":1`; nil: not requested, or not known
}

func (c *cpus) describe(s *format.Session) {
	c.nodes = make(map[uint32]int32)
	for _, one := range s.Cpus {
		c.nodes[one.Id] = one.Node
	}
}

// cpu returns the row of a CPU; nil if the number is out of range.
func (c *conversion) cpu(n uint32) *cpuRow {
	if uint64(n) < uint64(len(c.cpus.rows)) {
		if row := c.cpus.rows[n]; row != nil {
			return row
		}
	}
	if n >= maxCPUs {
		return nil
	}
	for uint64(len(c.cpus.rows)) <= uint64(n) {
		c.cpus.rows = append(c.cpus.rows, nil)
	}
	row := c.newCPU(n)
	c.cpus.rows[n] = row
	return row
}

func (c *conversion) newCPU(n uint32) *cpuRow {
	tid := cpuTID + int64(n)
	name := "CPU " + strconv.FormatUint(uint64(n), 10)
	row := new(cpuRow)
	if node, found := c.cpus.nodes[n]; found && c.options.Numa {
		text := strconv.Itoa(int(node))
		row.node = []byte(`,"numa":` + text)
		name += ", node " + text
	}
	row.place = append(strconv.AppendInt(nil, tid, 10), `,"ts":`...)
	row.whole = append(strconv.AppendInt([]byte(`"pid":`), cpusPID, 10), `,"tid":`...)
	row.whole = append(row.whole, row.place...)
	if !c.cpus.any() {
		c.metadata("process_name", cpusPID, 0, "name", "CPUs")
		c.sortIndex("process_sort_index", cpusPID, 0, -1)
	}
	c.metadata("thread_name", cpusPID, tid, "name", name)
	c.sortIndex("thread_sort_index", cpusPID, tid, int64(n))
	return row
}

// any reports whether a CPU has a row.
func (c *cpus) any() bool {
	for _, row := range c.rows {
		if row != nil {
			return true
		}
	}
	return false
}
