package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"wprof/format"
	"wprof/internal/sources"
	"wprof/internal/tracepoint"
)

const (
	// measuredTracepoint stands for all: it fires wherever anything runs.
	measuredTracepoint = "sched:sched_switch"
	measuredSeconds    = 3
	// fewestMeasured is the number of events of which a mean says something.
	fewestMeasured = 20
)

// measure replaces the costs by those of a recording of this machine, as it is now.
func (l *lister) measure() error {
	folder, err := os.MkdirTemp("", "wprof-measure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "all.wprof")
	if err := l.recordAll(file); err != nil {
		return err
	}
	counted, err := countCosts(file)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	on := fmt.Sprintf("this machine just now, in a recording of %d s with all of them, as observed; ns include about 40 for measuring a run", measuredSeconds)
	for _, s := range l.sources {
		s.Cost = counted.of(s)
		if s.Cost != nil {
			s.Cost.On = on
		}
	}
	return nil
}

// recordAll records with all sources that the kernel has, in a process of its own.
func (l *lister) recordAll(file string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var words []string
	for _, s := range l.sources {
		if s.Here != "no" && strings.HasPrefix(s.Flag, "-f ") && s.Name != tracepoint.Feature && s.Name != sources.PythonCalls && s.Name != sources.Torch && !s.On {
			words = append(words, s.Name)
		}
	}
	words = append(words, tracepoint.Feature+"="+measuredTracepoint)
	l.inv.Warnf("measuring for %d s; the kernel measures every BPF program on this machine meanwhile", measuredSeconds)
	cmd := exec.Command(self, "--stats", fmt.Sprintf("-d%ds", measuredSeconds), "-f", strings.Join(words, ","), "-o", file)
	if message, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(message)), "\n")
		return errors.New(strings.TrimPrefix(lines[len(lines)-1], l.inv.Tool.Name+": "))
	}
	return nil
}

// costs are what a capture with --stats says of programs and events.
type costs struct {
	programs map[string]*format.ProgramCost
	kinds    map[format.Kind]*format.KindCount
	types    map[string]*typeCost
	groups   map[string]*typeCost // of types
	values   uint64               // bytes, of all types
}

type typeCost struct{ events, bytes uint64 }

func addTo(all map[string]*typeCost, name string, bytes int) {
	t := all[name]
	if t == nil {
		t = new(typeCost)
		all[name] = t
	}
	t.events++
	t.bytes += uint64(bytes)
}

func countCosts(file string) (*costs, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, err := format.NewReader(in)
	if err != nil {
		return nil, err
	}
	c := &costs{programs: make(map[string]*format.ProgramCost), kinds: make(map[format.Kind]*format.KindCount), types: make(map[string]*typeCost), groups: make(map[string]*typeCost)}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if e.Kind != format.KindTyped {
			continue
		}
		if of := r.EventType(e.TypeID()); !of.IsLost() {
			addTo(c.types, string(of.Name), len(e.Data))
			addTo(c.groups, string(of.Group), len(e.Data))
			c.values += uint64(len(e.Data))
		}
	}
	end := r.End()
	for _, p := range end.GetCost().GetPrograms() {
		c.programs[p.Name] = p
	}
	for _, k := range end.GetKinds() {
		c.kinds[format.Kind(k.Kind)] = k
	}
	return c, nil
}

// of returns the cost of a source; nil: too few of its events happened.
func (c *costs) of(s *listed) *cost {
	var found cost
	var bytes, ns float64
	for _, kind := range s.kinds {
		if k := c.kinds[kind]; k != nil {
			found.Events += k.Events
			bytes += float64(k.Bytes)
		}
	}
	header := 0.0 // of a typed event, what is not its values
	if k := c.kinds[format.KindTyped]; k != nil && k.Events > 0 {
		header = float64(k.Bytes-min(k.Bytes, c.values)) / float64(k.Events)
	}
	types := c.types
	if s.byGroup {
		types = c.groups
	}
	for _, name := range s.types {
		if t := types[name]; t != nil {
			found.Events += t.events
			bytes += float64(t.bytes) + header*float64(t.events)
		}
	}
	for _, name := range s.programs {
		ns += float64(c.programs[name].GetNs())
	}
	if found.Events < fewestMeasured || len(s.programs) == 0 {
		return nil
	}
	found.Ns = ns / float64(found.Events)
	if !s.noBytes {
		found.Bytes = bytes / float64(found.Events)
	}
	return &found
}
