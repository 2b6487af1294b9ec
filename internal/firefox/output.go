package firefox

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/records"
	"wprof/internal/spill"
)

// The versions of the formats that the profile follows: processed, and that of Firefox itself.
const (
	version      = 63
	geckoVersion = 30
)

// write writes the whole profile.
func (p *profile) write(w *writer, lost bool) error {
	live := p.sorted()
	for i, t := range live {
		t.index = p.threads.done.rows + i
	}
	w.text("{\"meta\":{")
	p.meta(w, lost)
	w.text("},\n\"libs\":")
	p.shared.libs.array(w, 1, text(""))
	w.text(",\n\"counters\":[")
	for i, c := range p.counters.order {
		if i > 0 {
			w.text(",\n")
		}
		p.counter(w, c)
	}
	w.text("],\n\"shared\":{")
	p.shared.write(w)
	w.text("},\n\"threads\":[")
	p.doneThreads(w)
	for i, t := range live {
		if p.threads.done.rows+i > 0 {
			w.text(",\n")
		}
		w.b = append(t.head(append(w.b, '{')), ',')
		writeTables(w, &t.samples, &t.markers)
	}
	w.text("]}\n")
	return w.finish()
}

// doneThreads writes the threads that were moved to the store.
func (p *profile) doneThreads(w *writer) {
	w.fail(p.threads.done.each(maxValues, func(r *row) error {
		if r.number > 0 {
			w.text(",\n")
		}
		w.b = append(append(append(w.b, '{'), r.text...), ',')
		v := &r.values
		samples := table{p.store.At(spill.Ref{Offset: v[0], Length: int32(v[1])}), int(v[2])}
		markers := table{p.store.At(spill.Ref{Offset: v[3], Length: int32(v[4])}), int(v[5])}
		writeTables(w, &samples, &markers)
		return w.flush()
	}))
}

// writeTables writes the tables of a thread, and ends it.
func writeTables(w *writer, samples, markers *table) {
	w.text("\n\"samples\":{\"weightType\":\"tracing-ms\",")
	samples.write(w, sampleValues, []column{
		index("stack", sampleStack), millis("timeDeltas", sampleDelta), millis("weight", sampleWeight), number("threadCPUDelta", sampleCPU),
	})
	w.text("},\n\"markers\":{")
	markers.write(w, markerValues, []column{
		text("data"), number("name", markerName), millis("startTime", markerStart),
		{"endTime", func(b []byte, r *row) []byte {
			if r.values[markerEnd] == none {
				return append(b, "null"...)
			}
			return appendMillis(b, r.values[markerEnd])
		}},
		{"phase", func(b []byte, r *row) []byte {
			if r.values[markerEnd] == none {
				return append(b, '0')
			}
			return append(b, '1')
		}},
		number("category", markerCategory),
	})
	w.text("}}")
}

func (p *profile) counter(w *writer, c *counter) {
	w.b = append(c.append(w.b, p), `}]},"samples":{`...)
	c.values.write(w, 1, []column{millis("timeDeltas", 0), {"count", showDifference}})
	w.text("}}")
}

// write writes the tables that all threads share.
func (s *shared) write(w *writer) {
	w.text(`"stringArray":`)
	s.strings.array(w, 0, text(""))
	for _, one := range []struct {
		name    string
		table   *table
		values  int
		columns []column
	}{
		{"sources", &s.sources, 1, []column{same("id", "null"), number("filename", 0), same("startLine", "1"), same("startColumn", "1"), same("sourceMapURL", "null")}},
		{"resourceTable", &s.libs, 1, []column{{"lib", func(b []byte, r *row) []byte { return appendInt(b, int64(r.number)) }}, number("name", 0), same("host", "null"), same("type", resourceLibrary)}},
		{"funcTable", &s.funcs, 3, []column{
			number("name", 0), same("isJS", "false"), same("relevantForJS", "false"), number("resource", 1), index("source", 2),
			same("lineNumber", "null"), same("columnNumber", "null"),
		}},
		{"frameTable", &s.frames, 6, []column{
			number("address", 0), number("inlineDepth", 1), number("category", 2), number("subcategory", 3), number("func", 4), index("line", 5),
			same("nativeSymbol", "null"), same("innerWindowID", "null"), same("column", "null"),
		}},
		{"stackTable", &s.nodes, 2, []column{number("frame", 0), index("prefix", 1)}},
	} {
		w.text(",\n\"" + one.name + `":{`)
		one.table.write(w, one.values, one.columns)
		w.text("}")
	}
	w.text(",\n" + `"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]}`)
}

// resourceLibrary is the type of a resource that is a library: resourceTypes in src/profile-logic/data-structures.ts.
const resourceLibrary = "1"

// meta writes the metadata of the profile.
func (p *profile) meta(w *writer, lost bool) {
	s := &p.about.Session
	interval, start := int64(1e6), int64(0)
	if s.TimerHz > 0 {
		interval = 1e9 / s.TimerHz
	}
	if !s.Opened.IsZero() {
		start = s.Opened.UnixNano()
	}
	b := append(w.b, `"product":"wprof","importedFrom":"wprof","stackwalk":1,"processType":0,"symbolicated":true,"usesOnlyOneStackType":true,"sourceCodeIsNotOnSearchfox":true,"platform":"Linux",`...)
	b = append(b, `"version":`+strconv.Itoa(geckoVersion)+`,"preprocessedProfileVersion":`+strconv.Itoa(version)+`,"interval":`...)
	b = append(appendMillis(b, interval), `,"startTime":`...)
	b = append(appendMillis(b, start), `,"startTimeAsClockMonotonicNanosecondsSinceBoot":`...)
	window := p.about.Window(p.first)
	b = append(appendInt(b, p.first), `,"profilingStartTime":`...)
	b = append(appendMillis(b, max(window.Start, 0)), `,"profilingEndTime":`...)
	b = append(appendMillis(b, max(window.Start, window.End, 0)), `,"oscpu":`...)
	b = records.AppendString(b, "Linux "+clean(p.machine.kernel)+" "+clean(p.machine.arch))
	b = appendInt(append(b, `,"logicalCPUs":`...), int64(p.machine.cpus))
	b = append(b, `,"sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"},`+"\n"+`"categories":[`...)
	b = append(appendCategories(b), "],\n\"markerSchema\":["...)
	b = append(p.schemas.append(b), "],\n\"extra\":[{\"label\":\"Recording\",\"entries\":["...)
	b = appendEntry(b, "host", s.Host)
	b = appendEntry(append(b, ','), "boot", s.BootID)
	for _, command := range s.Extras {
		b = appendEntry(append(b, ','), "command", command)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		b = appendEntry(append(b, ','), "metadata "+key, s.Metadata[key])
	}
	b = appendEntry(append(b, ','), "events were lost", map[bool]string{false: "no", true: "yes"}[lost])
	w.b = append(b, "]}]"...)
}

func clean(s string) string { return strings.ToValidUTF8(s, "�") }

func appendEntry(b []byte, label, value string) []byte {
	b = records.AppendString(append(b, `{"label":`...), label)
	return append(records.AppendString(append(b, `,"format":"string","value":`...), value), '}')
}
