package perfetto

import (
	"math"

	"wprof/format"
)

// counterSet are the counters of the current section.
type counterSet struct {
	*format.Counters
	names  []string // of annotations
	values []float64
}

func (c *counterSet) newSection(s *format.Session) {
	c.Counters, c.names = format.NewCounters(s), c.names[:0]
	for _, one := range c.List {
		c.names = append(c.names, shownText(one.GetName()))
	}
}

// describeCounters interns what the annotations of a slice or an instant are called, before it begins.
func (w *view) describeCounters(counts []format.Count) {
	if len(counts) == 0 {
		return
	}
	for _, name := range w.counters.names {
		w.annotation(name)
	}
}

// annotateCounts annotates a slice or an instant with what counters counted, and with metrics of that.
func (w *view) annotateCounts(counts []format.Count) {
	if len(counts) == 0 {
		return
	}
	w.counters.values = w.counters.AppendValues(w.counters.values[:0], counts)
	for i, v := range w.counters.values {
		name := w.seq.annotations[w.counters.names[i]]
		switch {
		case math.IsNaN(v):
		case w.counters.IsNumber(i):
			w.seq.annotate(name, annotationNumber, counts[i].Number)
		default:
			w.seq.float(name, v)
		}
	}
}
