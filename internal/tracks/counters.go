package tracks

import (
	"math"

	"wprof/format"
	"wprof/internal/stacks"
)

// counterArgs makes arguments of what the counters of the current section have counted.
type counterArgs struct {
	of     *format.Counters
	names  []string
	counts []format.Count
	values []float64
}

func (c *counterArgs) newSection(s *format.Session) {
	c.of, c.names = format.NewCounters(s), c.names[:0]
	for _, one := range c.of.List {
		c.names = append(c.names, string(stacks.Clipped(stacks.Printable([]byte(one.GetName()), stacks.Unnamed))))
	}
}

// add appends an argument for each counter and derived metric whose value is known.
func (c *counterArgs) add(i *Item, data []byte) {
	if c.of == nil || len(data) == 0 {
		return
	}
	c.counts = format.ReadCounts(c.counts[:0], data)
	c.values = c.of.AppendValues(c.values[:0], c.counts)
	for n, v := range c.values {
		if math.IsNaN(v) {
			continue
		}
		name := c.names[n]
		for i.arg(name) != nil || name == stackName || name == threadName || name == lengthName {
			name += "_"
		}
		a := Arg{Name: name, Type: ArgFloat, Number: math.Float64bits(v), Unit: c.of.List[n].GetUnit()}
		if c.of.IsNumber(n) {
			a.Type, a.Number = ArgUint, c.counts[n].Number
		}
		i.Args = append(i.Args, a)
	}
}
