package info

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/byid"
	"wprof/internal/cli"
	"wprof/internal/timeline"
)

// probeKey identifies a probe: probes that share an id are apart.
type probeKey struct {
	id, definition string
	isSpan         bool
	isCounted      bool
}

// probe is what is counted of a probe's events.
type probe struct {
	probeKey
	events   uint64
	open     uint64    // spans that had not ended
	lengths  latencies // of those that had
	heat     heatmap   // of the lengths of spans, or of the amounts that were counted
	fields   []*fieldValues
	counts   probeCounts
	isUnseen bool // it has no events, and its kind is not known
}

// maxProbes bounds the probes that are listed.
const maxProbes = 1024

// probes is the [timeline.Visitor] that counts the events of user-defined probes. The entries of spans do not count.
type probes struct {
	r      *format.Reader
	found  *bounded.Map[probeKey, *probe]
	byType byid.Table[typeOf]
	values []format.Value
	given  []string // definitions that were recorded, also those without events
	keys   int      // of what was counted, of all probes
	first  int64    // when the first window opened
	opened int64
	window int64 // length of all windows; of one whose closing is not known, up to its last event
	last   int64
	lost   bool
}

// typeOf is the probe of a type that was looked up.
type typeOf struct {
	known  bool
	probe  *probe             // nil: none
	def    *format.EventType  // nil: its values are not needed
	counts format.CountFields // of a probe that is counted
}

// listing is made from the events of a capture.
type listing interface {
	timeline.Visitor
	print(w io.Writer, source string) error
	hasLost() bool
}

// runListing lists what a capture has of something.
func runListing(inv *cli.Invocation, of string, list func(*format.Reader) listing) error {
	in, err := inv.OpenCapture("list the "+of+" of", "the list is of all the rest", inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := createOutput(inv, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	r, err := in.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	l := list(r)
	err = timeline.Visit(r, l)
	if err != nil && !cli.EndsWell(err) {
		return in.Error(err)
	}
	if err := l.print(out, in.Name); err != nil {
		return err
	}
	if err := in.Commit(err, out); err != nil {
		return err
	}
	return in.Outcome(cli.CaptureResult{Lost: l.hasLost(), Damage: r.Damage()}, err)
}

func (p *probes) hasLost() bool { return p.lost }

func newProbes(r *format.Reader) *probes {
	return &probes{r: r, found: bounded.NewMap[probeKey, *probe](maxProbes)}
}

// NewSection implements [timeline.Visitor].
func (p *probes) NewSection(s *format.Session) error {
	p.byType.Clear()
	for _, c := range s.GetConfig() {
		if c.Key == format.ConfigProbes {
			p.addGiven(c.Value)
		}
	}
	return nil
}

// addGiven adds the definitions of a recording, one a line.
func (p *probes) addGiven(lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		if len(p.given) < maxProbes && !slices.Contains(p.given, line) {
			p.given = append(p.given, line)
		}
	}
}

// addUnseen adds the probes without events.
func (p *probes) addUnseen(all []*probe) []*probe {
	for _, definition := range p.given {
		if !slices.ContainsFunc(all, func(one *probe) bool { return one.definition == definition }) {
			all = append(all, &probe{probeKey: probeKey{id: definition, definition: definition}, isUnseen: true})
		}
	}
	return all
}

// Open implements [timeline.Visitor].
func (p *probes) Open(_ *format.Session, at, _ int64, _ bool) error {
	p.opened, p.last = at, at
	if p.first == 0 {
		p.first = at
	}
	return nil
}

// Close implements [timeline.Visitor].
func (p *probes) Close(at int64) error {
	p.window += max(0, max(at, p.last)-p.opened)
	return nil
}

// Event implements [timeline.Visitor].
func (p *probes) Event(e *format.Event) error {
	p.last = max(p.last, e.Time)
	p.lost = p.lost || e.Kind == format.KindLost && e.Lost().IsFault()
	if e.Kind != format.KindTyped || e.Task != 0 && e.Flags&format.FlagSubject == 0 {
		return nil
	}
	t := p.of(e.TypeID())
	of := t.probe
	if of == nil {
		return nil
	}
	p.values = p.values[:0]
	if t.def != nil {
		var ok bool
		if p.values, ok = t.def.AppendValues(p.values, e); !ok {
			return nil
		}
	}
	if of.isCounted {
		p.addCounts(of, &t, e)
		return nil
	}
	of.events++
	of.addFields(p.values)
	start, isSpan := e.Start()
	switch {
	case e.Flags&format.FlagOpen != 0:
		of.open++
	case isSpan:
		length := e.Happened() - start
		of.lengths.add(length)
		of.heat.addOne(e.Happened(), length)
	}
	return nil
}

// of returns the probe of a type.
func (p *probes) of(id uint32) typeOf {
	if known := p.byType.Get(id); known.known {
		return known
	}
	t := p.r.EventType(id)
	of := typeOf{known: true}
	if !t.IsLost() && len(t.Probe) > 0 && !t.Entry {
		counts, isCounted := t.Counts()
		key := probeKey{string(t.Probe), string(t.Definition), t.Shape == uint32(format.TypeShape_SHAPE_SPAN), isCounted}
		found := false
		if of.probe, found = p.found.Get(key); !found {
			of.probe = &probe{probeKey: key, heat: heatmap{from: p.first, length: shortestColumn}}
			if isCounted { // by the second
				of.probe.heat.length = int64(time.Second)
			}
			p.found.Put(key, of.probe)
		}
		if of.counts = counts; isCounted || slices.ContainsFunc(t.Fields, isHistogram) {
			of.def = t
		}
	}
	if id != 0 {
		p.byType.Put(id, of)
	}
	return of
}

// print prints a row for each probe, then its definition and how long its spans were.
func (p *probes) print(w io.Writer, source string) error {
	all := slices.SortedFunc(p.found.Values(), func(a, b *probe) int {
		return cmp.Or(cmp.Compare(b.events, a.events), cmp.Compare(a.id, b.id), cmp.Compare(a.definition, b.definition))
	})
	all = p.addUnseen(all)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: events of %s in %s\n\n", name(source), cli.Counted(uint64(len(all)), "probe"), seconds(p.window))
	if len(all) > 0 {
		table(out, p.rows(all))
	}
	for _, one := range all {
		if !one.isUnseen {
			one.print(out, p.window)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the list of probes: %w", err)
	}
	return nil
}

func (p *probes) rows(all []*probe) [][]string {
	rows := [][]string{{"events", "rate", "kind", "p50", "p90", "p99", "longest", "probe"}}
	for _, one := range all {
		row := []string{cli.Grouped(one.events), perSecond(one.events, p.window), "instant", "", "", "", "", name(one.id)}
		switch {
		case one.isUnseen:
			row[2] = "-"
		case one.isCounted:
			row[2] = "counted"
			copy(row[3:], percentiles(&one.counts.amounts, one.counts.unit))
		case one.isSpan:
			row[2] = "span"
		}
		if l := &one.lengths; l.count > 0 {
			for i, q := range quantiles() {
				row[3+i] = brief(l.quantile(q))
			}
			row[6] = brief(l.longest)
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *probe) print(w io.Writer, window int64) {
	fmt.Fprintf(w, "\n%s: %s\n", name(p.id), name(p.definition))
	if p.open > 0 {
		fmt.Fprintf(w, "  %s had not ended\n", cli.Counted(p.open, "span"))
	}
	if p.isCounted {
		p.counts.print(w, window)
		p.heat.print(w, p.counts.unit)
		return
	}
	table(w, histogramRows(p.lengths.counts(), "ns"))
	p.heat.print(w, "ns")
	for _, f := range p.fields {
		f.print(w)
	}
}
