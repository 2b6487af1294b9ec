package pprof

import (
	"bytes"
	"io"

	gprofile "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// Numbers of fields in pprof's profile.proto.
const (
	profileSample      protowire.Number = 2
	profileStringTable protowire.Number = 6
	sampleLocationID   protowire.Number = 1
	sampleValue        protowire.Number = 2
	sampleLabel        protowire.Number = 3
	labelKey           protowire.Number = 1
	labelString        protowire.Number = 2
	labelNumber        protowire.Number = 3
	labelUnit          protowire.Number = 4
)

// pprofSampleWriter appends samples to an encoded profile without samples. The library would need a kilobyte of memory for each;
// here they are written one by one. The format allows that: the elements of its lists, also of strings, need not be together.
type pprofSampleWriter struct {
	p       *profile.Profile
	v       graph.View
	tables  *pprofTables
	out     io.Writer
	strings map[string]uint64 // indexes of the strings written here
	next    uint64            // index of the next one
	err     error             // first write error
	// Reused for each sample.
	sample, packed, label, record []byte
}

func newPprofSampleWriter(p *profile.Profile, v graph.View, tables *pprofTables, out io.Writer) *pprofSampleWriter {
	return &pprofSampleWriter{p: p, v: v, tables: tables, out: out, strings: make(map[string]uint64)}
}

// begin writes what comes before the samples.
func (s *pprofSampleWriter) begin(file *gprofile.Profile) error {
	var b bytes.Buffer
	if err := file.WriteUncompressed(&b); err != nil {
		return err
	}
	for rest := b.Bytes(); len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == profileStringTable {
			s.next++
		}
		rest = rest[n:]
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// add writes a cell.
func (s *pprofSampleWriter) add(c *profile.Cell) {
	if s.err != nil {
		return
	}
	s.sample = s.sample[:0]
	s.addLocations(c)
	s.addValues(c)
	s.addLabels(c)
	s.write(profileSample, s.sample)
}

// write writes a field of the profile.
func (s *pprofSampleWriter) write(number protowire.Number, value []byte) {
	s.record = protowire.AppendTag(s.record[:0], number, protowire.BytesType)
	s.record = protowire.AppendBytes(s.record, value)
	if _, err := s.out.Write(s.record); err != nil && s.err == nil {
		s.err = err
	}
}

// addLocations adds the cell's stack, innermost frame first.
func (s *pprofSampleWriter) addLocations(c *profile.Cell) {
	s.packed = s.packed[:0]
	if note := pprofNote(&s.v, c); note != "" {
		s.packed = protowire.AppendVarint(s.packed, s.tables.note(note))
	}
	for id := c.Stack; id != 0; id = s.p.Nodes[id].Parent {
		s.packed = protowire.AppendVarint(s.packed, uint64(s.p.Nodes[id].Frame))
	}
	s.pack(sampleLocationID)
}

func (s *pprofSampleWriter) addValues(c *profile.Cell) {
	s.packed = s.packed[:0]
	for _, value := range valuesOf(c) {
		s.packed = protowire.AppendVarint(s.packed, uint64(value))
	}
	s.pack(sampleValue)
}

// valuesOf returns the values of a cell.
func valuesOf(c *profile.Cell) (values [pprofValues]int64) {
	values[pprofWall] = c.Ns
	switch {
	case c.Class.OnCPU():
		values[pprofSamples], values[pprofOnCPU] = int64(c.Count), c.Ns
	case c.Class.Delay():
		values[pprofDelay] = c.Ns
	case c.Class.OffCPU():
		values[pprofWaits], values[pprofOffCPU] = int64(c.Count), c.Ns
	default:
		values[pprofUnknown] = c.Ns
	}
	return values
}

// pack adds a list of numbers to the sample.
func (s *pprofSampleWriter) pack(number protowire.Number) {
	s.sample = protowire.AppendTag(s.sample, number, protowire.BytesType)
	s.sample = protowire.AppendBytes(s.sample, s.packed)
}

// addLabels adds the thread, process, CPU and reason.
func (s *pprofSampleWriter) addLabels(c *profile.Cell) {
	l := &s.p.Labels[c.Label]
	s.addNumber("pid", uint64(l.PID))
	if !c.Shared {
		s.addNumber("tid", uint64(l.TID))
	}
	s.addText("comm", l.Comm)
	s.addText("process", l.Process)
	if c.CPU != profile.NoCPU && !c.Shared {
		s.addNumber("cpu", uint64(c.CPU))
	}
	if !c.Class.OnCPU() {
		s.addText("state", c.Reason())
	}
}

func (s *pprofSampleWriter) addText(key, value string) {
	if value == "" {
		return
	}
	s.beginLabel(key)
	s.label = protowire.AppendTag(s.label, labelString, protowire.VarintType)
	s.label = protowire.AppendVarint(s.label, s.text(value))
	s.endLabel()
}

// addNumber adds a number, which pprof -tagfocus matches. The unit is what pprof assumes if there is none: it drops labels of 0
// without text and unit.
func (s *pprofSampleWriter) addNumber(key string, value uint64) {
	s.beginLabel(key)
	s.label = protowire.AppendTag(s.label, labelNumber, protowire.VarintType)
	s.label = protowire.AppendVarint(s.label, value)
	s.label = protowire.AppendTag(s.label, labelUnit, protowire.VarintType)
	s.label = protowire.AppendVarint(s.label, s.text(key))
	s.endLabel()
}

func (s *pprofSampleWriter) beginLabel(key string) {
	s.label = protowire.AppendTag(s.label[:0], labelKey, protowire.VarintType)
	s.label = protowire.AppendVarint(s.label, s.text(key))
}

func (s *pprofSampleWriter) endLabel() {
	s.sample = protowire.AppendTag(s.sample, sampleLabel, protowire.BytesType)
	s.sample = protowire.AppendBytes(s.sample, s.label)
}

// text returns the index of a string, which it writes the first time.
func (s *pprofSampleWriter) text(value string) uint64 {
	index, known := s.strings[value]
	if !known {
		index = s.next
		s.next++
		s.strings[value] = index
		s.write(profileStringTable, []byte(text(value)))
	}
	return index
}
