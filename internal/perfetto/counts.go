package perfetto

import (
	"math"

	"wprof/format"
	"wprof/internal/tracks"
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

// describeCounters interns what the annotations of a slice are called, before it begins.
func (w *view) describeCounters(s *tracks.Slice) {
	if len(s.Counts) == 0 {
		return
	}
	for _, name := range w.counters.names {
		w.annotation(name)
	}
}

// annotateCounts annotates a slice with what counters counted in it, and with metrics of that.
func (w *view) annotateCounts(s *tracks.Slice) {
	if len(s.Counts) == 0 {
		return
	}
	w.counters.values = w.counters.AppendValues(w.counters.values[:0], s.Counts)
	for i, v := range w.counters.values {
		name := w.seq.annotations[w.counters.names[i]]
		switch one := w.counters.List[i]; {
		case math.IsNaN(v):
		case one.IsMetric() || one.GetScale() != "" || i >= len(s.Counts):
			w.seq.float(name, v)
		default:
			w.seq.annotate(name, annotationNumber, s.Counts[i].Number)
		}
	}
}
