package firefox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"
)

// The types are those of src/types/profile.ts and markers.ts in github.com/firefox-devtools/profiler, version 63. A column
// is an array whose elements have the type given, or are null where the type has null.

type profileJSON struct {
	Meta     metaJSON      `json:"meta"`
	Libs     []libJSON     `json:"libs"`
	Counters []counterJSON `json:"counters"`
	Shared   sharedJSON    `json:"shared"`
	Threads  []threadJSON  `json:"threads"`
}

type metaJSON struct {
	Product, ImportedFrom      string
	Stackwalk, ProcessType     int
	Symbolicated               bool
	UsesOnlyOneStackType       bool
	SourceCodeIsNotOnSearchfox bool
	Platform, Oscpu            string
	Version                    int
	PreprocessedProfileVersion int
	Interval, StartTime        float64
	Monotonic                  int64 `json:"startTimeAsClockMonotonicNanosecondsSinceBoot"`
	ProfilingStartTime         float64
	ProfilingEndTime           float64
	LogicalCPUs                int
	SampleUnits                struct{ Time, EventDelay, ThreadCPUDelta string }
	Categories                 []struct {
		Name, Color   string
		Subcategories []string
	}
	MarkerSchema []struct {
		Name, TooltipLabel, ChartLabel, TableLabel string
		Display                                    []string
		Fields                                     []struct{ Key, Label, Format string }
	}
	Extra []struct {
		Label   string
		Entries []struct{ Label, Format, Value string }
	}
}

type libJSON struct {
	Arch, Name, Path, DebugName, DebugPath, BreakpadID string
	CodeID                                             *string
}

type counterJSON struct {
	Name, Category, Description, PID string
	MainThreadIndex                  int
	Display                          struct {
		GraphType, Color, Unit, Label string
		MarkerSchemaLocation          *string
		SortWeight                    int
		TooltipRows                   []struct {
			Type, Source, Label string
			Format              struct{ Unit string }
		}
	}
	Samples struct {
		Length            int
		TimeDeltas, Count []float64
	}
}

type sharedJSON struct {
	StringArray []string
	Sources     struct {
		Length                 int
		ID                     []*string
		Filename               []int
		StartLine, StartColumn []int
		SourceMapURL           []*int
	}
	ResourceTable struct {
		Length          int
		Lib, Name, Type []int
		Host            []*int
	}
	NativeSymbols struct {
		Length                  int
		LibIndex, Address, Name []int
		FunctionSize            []*int
	}
	FuncTable struct {
		Length                           int
		Name, Resource                   []int
		IsJS, RelevantForJS              []bool
		Source, LineNumber, ColumnNumber []*int
	}
	FrameTable struct {
		Length                                    int
		Address, InlineDepth, Category            []int
		Subcategory, Func                         []int
		NativeSymbol, InnerWindowID, Line, Column []*int
	}
	StackTable struct {
		Length int
		Frame  []int
		Prefix []*int
	}
}

type threadJSON struct {
	ProcessType                         string
	ProcessStartupTime, RegisterTime    float64
	ProcessShutdownTime, UnregisterTime *float64
	PausedRanges                        []struct{}
	ShowMarkersInTimeline, IsMainThread bool
	Name, ProcessName                   string
	PID, TID                            string
	Samples                             struct {
		WeightType         string
		Length             int
		Stack              []*int
		TimeDeltas, Weight []float64
		ThreadCPUDelta     []int64
	}
	Markers struct {
		Length                int
		Data                  []map[string]any
		Name, Phase, Category []int
		StartTime             []float64
		EndTime               []*float64
	}
}

// read decodes a profile and checks it against the types: no field is unknown or has another type, all columns of a table have
// its length, and all indices exist.
func read(t testing.TB, text []byte) *profileJSON {
	t.Helper()
	p := new(profileJSON)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		t.Fatalf("%v in %.2000s", err, text)
	}
	if !utf8.Valid(text) {
		t.Error("the profile is not UTF-8")
	}
	c := checker{t: t, p: p}
	c.meta()
	c.shared()
	for i := range p.Threads {
		c.thread(&p.Threads[i])
	}
	c.counters()
	return p
}

type checker struct {
	testing.TB
	t testing.TB
	p *profileJSON
}

func (c *checker) is(ok bool, format string, args ...any) {
	c.t.Helper()
	if !ok {
		c.t.Fatalf(format, args...)
	}
}

// columns checks that columns have a length.
func (c *checker) columns(table string, length int, lengths ...int) {
	c.t.Helper()
	for _, n := range lengths {
		c.is(n == length, "a column of %s has %d rows of %d", table, n, length)
	}
}

// within checks that a column holds indices of something.
func within[T int | *int](c *checker, what string, column []T, length, least int) {
	c.t.Helper()
	for _, v := range column {
		switch n := any(v).(type) {
		case int:
			c.is(n >= least && n < length, "%s: %d of %d", what, n, length)
		case *int:
			c.is(n == nil || *n >= least && *n < length, "%s: %d of %d", what, n, length)
		}
	}
}

func (c *checker) meta() {
	m := &c.p.Meta
	c.is(m.PreprocessedProfileVersion == 63 && m.Interval > 0 && m.SampleUnits.Time == "ms" && m.SampleUnits.ThreadCPUDelta == "ns", "meta: %+v", m)
	grey := 0
	for _, one := range m.Categories {
		c.is(slices.Contains([]string{"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred", "darkgrey", "grey"}, one.Color), "colour %s", one.Color)
		c.is(len(one.Subcategories) > 0 && one.Subcategories[0] == "Other", "subcategories %q", one.Subcategories)
		if one.Color == "grey" {
			grey++
		}
	}
	c.is(grey == 1, "%d default categories", grey)
	names := make(map[string]bool)
	for _, s := range m.MarkerSchema {
		c.is(!names[s.Name], "schema %s twice", s.Name)
		names[s.Name] = true
		for _, d := range s.Display {
			c.is(slices.Contains([]string{"marker-chart", "marker-table", "timeline-overview"}, d), "display %s", d)
		}
		for _, f := range s.Fields {
			c.is(slices.Contains([]string{"string", "unique-string", "duration", "bytes", "integer", "decimal", "list"}, f.Format), "format %s", f.Format)
		}
	}
}

func (c *checker) shared() {
	s := &c.p.Shared
	strings := len(s.StringArray)
	c.columns("sources", s.Sources.Length, len(s.Sources.ID), len(s.Sources.Filename), len(s.Sources.StartLine), len(s.Sources.StartColumn), len(s.Sources.SourceMapURL))
	within(c, "filename", s.Sources.Filename, strings, 0)
	r := &s.ResourceTable
	c.columns("resourceTable", r.Length, len(r.Lib), len(r.Name), len(r.Type), len(r.Host))
	within(c, "lib", r.Lib, len(c.p.Libs), 0)
	within(c, "name of a resource", r.Name, strings, 0)
	fn := &s.FuncTable
	c.columns("funcTable", fn.Length, len(fn.Name), len(fn.Resource), len(fn.IsJS), len(fn.RelevantForJS), len(fn.Source), len(fn.LineNumber), len(fn.ColumnNumber))
	within(c, "name of a function", fn.Name, strings, 0)
	within(c, "resource", fn.Resource, r.Length, -1)
	within(c, "source", fn.Source, s.Sources.Length, 0)
	f := &s.FrameTable
	c.columns("frameTable", f.Length, len(f.Address), len(f.InlineDepth), len(f.Category), len(f.Subcategory), len(f.Func), len(f.NativeSymbol), len(f.InnerWindowID), len(f.Line), len(f.Column))
	within(c, "func", f.Func, fn.Length, 0)
	within(c, "address", f.Address, 1<<32, -1)
	for i, category := range f.Category {
		c.is(category >= 0 && category < len(c.p.Meta.Categories) && f.Subcategory[i] >= 0 && f.Subcategory[i] < len(c.p.Meta.Categories[category].Subcategories), "category %d.%d", category, f.Subcategory[i])
	}
	st := &s.StackTable
	c.columns("stackTable", st.Length, len(st.Frame), len(st.Prefix))
	within(c, "frame", st.Frame, f.Length, 0)
	for i, prefix := range st.Prefix {
		c.is(prefix == nil || *prefix >= 0 && *prefix < i, "the caller of stack %d comes after it", i)
	}
}

func (c *checker) thread(t *threadJSON) {
	s := &t.Samples
	c.columns("samples", s.Length, len(s.Stack), len(s.TimeDeltas), len(s.Weight), len(s.ThreadCPUDelta))
	within(c, "stack", s.Stack, c.p.Shared.StackTable.Length, 0)
	for i := range s.TimeDeltas {
		c.is(s.TimeDeltas[i] >= 0 && s.Weight[i] >= 0 && s.ThreadCPUDelta[i] >= 0, "sample %d of %s", i, t.Name)
		if i > 0 {
			c.is(float64(s.ThreadCPUDelta[i]) <= s.TimeDeltas[i]*1e6+0.5, "%s used %d ns of CPU in %v ms", t.Name, s.ThreadCPUDelta[i], s.TimeDeltas[i])
		}
	}
	m := &t.Markers
	c.columns("markers", m.Length, len(m.Data), len(m.Name), len(m.Phase), len(m.Category), len(m.StartTime), len(m.EndTime))
	within(c, "name of a marker", m.Name, len(c.p.Shared.StringArray), 0)
	within(c, "category of a marker", m.Category, len(c.p.Meta.Categories), 0)
	for i := range m.Length {
		c.is(m.Phase[i] == 0 && m.EndTime[i] == nil || m.Phase[i] == 1 && *m.EndTime[i] >= m.StartTime[i], "marker %d of %s", i, t.Name)
		c.data(m.Data[i])
	}
}

// data checks the data of a marker against its schema.
func (c *checker) data(data map[string]any) {
	at := slices.IndexFunc(c.p.Meta.MarkerSchema, func(s struct {
		Name, TooltipLabel, ChartLabel, TableLabel string
		Display                                    []string
		Fields                                     []struct{ Key, Label, Format string }
	}) bool {
		return s.Name == data["type"]
	})
	c.is(at >= 0, "no schema for %v", data)
	for key, value := range data {
		if key == "type" {
			continue
		}
		if key == "cause" {
			stack := value.(map[string]any)["stack"].(float64)
			c.is(int(stack) >= 0 && int(stack) < c.p.Shared.StackTable.Length, "cause %v", stack)
			continue
		}
		found := false
		for _, f := range c.p.Meta.MarkerSchema[at].Fields {
			if f.Key != key {
				continue
			}
			found = true
			_, isText := value.(string)
			number, isNumber := value.(float64)
			list, isList := value.([]any)
			c.is(isList == (f.Format == "list") && !slices.ContainsFunc(list, func(one any) bool { _, is := one.(string); return !is }), "%s of %v", key, data)
			c.is(isText == (f.Format == "string") && (isText || isNumber || isList || value == nil && f.Format == "decimal"), "%s of %v", key, data)
			c.is(f.Format != "unique-string" || int(number) < len(c.p.Shared.StringArray), "%s of %v", key, data)
		}
		c.is(found, "%s of %v is in no schema", key, data)
	}
}

func (c *checker) counters() {
	for i := range c.p.Counters {
		one := &c.p.Counters[i]
		c.columns("counter", one.Samples.Length, len(one.Samples.TimeDeltas), len(one.Samples.Count))
		c.is(one.MainThreadIndex >= 0 && one.MainThreadIndex < len(c.p.Threads) && c.p.Threads[one.MainThreadIndex].PID == one.PID, "counter %+v", one)
	}
}

// stackOf returns a stack as text, innermost function first, with categories.
func (p *profileJSON) stackOf(i *int) string {
	text := ""
	for ; i != nil; i = p.Shared.StackTable.Prefix[*i] {
		f := p.Shared.StackTable.Frame[*i]
		if text != "" {
			text += " < "
		}
		text += p.Shared.StringArray[p.Shared.FuncTable.Name[p.Shared.FrameTable.Func[f]]] + "/" + p.Meta.Categories[p.Shared.FrameTable.Category[f]].Name
	}
	return text
}

// samplesOf returns the samples of a thread as text.
func (p *profileJSON) samplesOf(t *threadJSON) (all []string) {
	at := 0.0
	for i, d := range t.Samples.TimeDeltas {
		at += d
		all = append(all, fmt.Sprintf("%g %s weight=%g cpu=%d", at, p.stackOf(t.Samples.Stack[i]), t.Samples.Weight[i], t.Samples.ThreadCPUDelta[i]))
	}
	return all
}

// markersOf returns the markers of a thread as text.
func (p *profileJSON) markersOf(t *threadJSON) (all []string) {
	for i, data := range t.Markers.Data {
		text := fmt.Sprintf("%g", t.Markers.StartTime[i])
		if end := t.Markers.EndTime[i]; end != nil {
			text += fmt.Sprintf("-%g", *end)
		}
		text += " " + p.Shared.StringArray[t.Markers.Name[i]]
		for _, s := range p.Meta.MarkerSchema {
			for _, f := range s.Fields {
				value, has := data[f.Key]
				if s.Name != data["type"] || !has {
					continue
				}
				if f.Format == "unique-string" {
					value = p.Shared.StringArray[int(value.(float64))]
				}
				text += fmt.Sprintf(" %s=%v", f.Label, value)
			}
		}
		if cause, has := data["cause"].(map[string]any); has {
			stack := int(cause["stack"].(float64))
			text += " at " + p.stackOf(&stack)
		}
		all = append(all, text)
	}
	return all
}
