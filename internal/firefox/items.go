package firefox

import (
	"math"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// Item implements [tracks.Encoder].
func (p *profile) Item(i *tracks.Item) {
	t := p.threadOf(i)
	if i.Shape == tracks.ShapeCounter && p.count(i, t) {
		return
	}
	s := p.schemas.of(itemPrefix + p.texts.Name([]byte(i.Type)))
	p.data = records.AppendString(append(p.data[:0], `{"type":`...), s.name)
	if i.CPU != format.AllCPUs {
		p.item(s, &tracks.Arg{Name: "CPU", Number: uint64(i.CPU)}, true)
	}
	if i.Shape == tracks.ShapeCounter {
		p.item(s, &tracks.Arg{Name: "value", Type: tracks.ArgFloat, Number: math.Float64bits(i.Value)}, true)
	}
	for n := range i.Args {
		p.item(s, &i.Args[n], false)
	}
	if i.Open {
		p.item(s, &tracks.Arg{Name: "not ended", Type: tracks.ArgText, Text: "yes"}, true)
	}
	p.cause(p.shared.stack(i.Stack).node)
	to := int64(none)
	if i.Shape == tracks.ShapeSlice {
		to = i.To
	}
	p.mark(t, p.texts.Name([]byte(i.Name)), i.From, to, categoryOther)
}

// itemPrefix is the prefix of items' types, so that no stream can define one of ours.
const itemPrefix = "event "

// threadOf returns the thread of an item.
func (p *profile) threadOf(i *tracks.Item) *thread {
	switch i.On {
	case format.TypeTrack_TRACK_THREAD, format.TypeTrack_TRACK_PROCESS:
		return p.thread(i.Task, i.CPU)
	case format.TypeTrack_TRACK_CPU:
		return p.cpu(i.CPU)
	}
	return p.recording()
}

// item adds an argument to the data of the current marker, and its field to the type if it is missing. own: it is not a field of the
// event type, which may have a field of the same name.
func (p *profile) item(s *schema, a *tracks.Arg, own bool) {
	label, shown := shownAs(a)
	key := shown + " " + label + " " + a.Name
	if own {
		key = "own " + key
	}
	n, known := s.byName[key]
	if !known {
		if len(s.fields) == maxFields {
			return
		}
		n = len(s.fields)
		s.byName[key] = n
		s.fields = append(s.fields, field{"f" + strconv.Itoa(n), p.texts.Name([]byte(label)), shown})
	}
	p.key(s.fields[n].key)
	switch a.Type {
	case tracks.ArgText:
		p.data = records.AppendString(p.data, p.texts.Clip([]byte(a.Text)))
	case tracks.ArgStack:
		p.data = records.AppendStrings(p.data, a.Stack.Shown())
	case tracks.ArgTask:
		p.data = appendInt(p.data, int64(p.label(a.Task)))
	case tracks.ArgInt:
		if shown == "duration" {
			p.data = appendMillis(p.data, int64(a.Number))
			break
		}
		p.data = strconv.AppendInt(p.data, int64(a.Number), 10)
	case tracks.ArgFloat:
		p.data = records.AppendFloat(p.data, math.Float64frombits(a.Number))
	default:
		p.data = strconv.AppendUint(p.data, a.Number, 10)
	}
}

// shownAs returns the label of an argument in the user interface, and the format in which it is shown.
func shownAs(a *tracks.Arg) (label, as string) {
	switch {
	case a.Type == tracks.ArgText:
		return a.Name, "string"
	case a.Type == tracks.ArgTask:
		return a.Name, "unique-string"
	case a.Type == tracks.ArgStack:
		return a.Name, "list"
	case a.Unit == "ns" && a.Type == tracks.ArgInt:
		field, end, _ := strings.Cut(a.Name, " ")
		return strings.TrimSpace(strings.TrimSuffix(field, "_ns") + " " + end), "duration"
	case a.Unit == "bytes":
		return a.Name, "bytes"
	}
	label, as = a.Name, "integer"
	if a.Type == tracks.ArgFloat {
		as = "decimal"
	}
	if a.Unit != "" {
		label += " (" + a.Unit + ")"
	}
	return label, as
}
