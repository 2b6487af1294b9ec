package chrome

import (
	"hash/crc32"
	"math"
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// Item implements [tracks.Encoder]. Slices are asynchronous events, because those of a row may not overlap, except for those within the
// slices of a thread.
func (c *conversion) Item(i *tracks.Item) {
	place := c.itemPlace(i)
	if place == nil {
		return
	}
	name := c.texts.Clip([]byte(i.Name))
	if i.Open {
		name += " (open)"
	}
	if i.Shape == tracks.ShapeCounter {
		b := records.AppendString(append(c.out.next(), `{"ph":"C","name":`...), c.texts.Clean([]byte(i.Track))+c.counterOf(i))
		b = appendMicros(append(append(b, ','), place...), i.From-c.first)
		b = records.AppendFloat(append(b, `,"args":{"value":`...), i.Value)
		c.out.b = append(b, "}}"...)
		return
	}
	if i.Shape != tracks.ShapeSlice {
		b := append(c.out.next(), `{"ph":"i","s":"t","cat":"event","name":`...)
		c.out.b = c.itemRest(b, i, name, place, i.From)
		return
	}
	if i.Track == "" {
		b := append(c.out.next(), `{"ph":"X","cat":"interrupt","dur":`...)
		b = append(appendLength(b, i.To-i.From), `,"name":`...)
		c.out.b = c.itemRest(b, i, name, place, i.From)
		return
	}
	if i.Began != nil {
		c.crosses(i)
	}
	c.arrowID++
	for _, end := range [...]struct {
		phase byte
		at    int64
	}{{'b', i.From}, {'e', i.To}} {
		b := append(append(c.out.next(), `{"ph":"`...), end.phase)
		b = records.AppendString(append(b, `","cat":`...), c.texts.Clean([]byte(i.Track)))
		b = append(strconv.AppendInt(append(b, `,"id":`...), c.arrowID, 10), `,"name":`...)
		c.out.b = c.itemRest(b, i, name, place, end.at)
	}
}

// itemPlace returns the row of an item; nil: there is none.
func (c *conversion) itemPlace(i *tracks.Item) []byte {
	switch i.On {
	case format.TypeTrack_TRACK_THREAD, format.TypeTrack_TRACK_PROCESS:
		return c.placeOf(c.task(i.Task), i.CPU)
	case format.TypeTrack_TRACK_CPU:
		if row := c.cpu(i.CPU); row != nil {
			return row.whole
		}
	case format.TypeTrack_TRACK_GLOBAL:
		return []byte(`"pid":` + strconv.Itoa(recordingPID) + `,"tid":` + strconv.FormatInt(c.noteRow(format.AllCPUs), 10) + `,"ts":`)
	}
	return nil
}

func (c *conversion) itemRest(b []byte, i *tracks.Item, name string, place []byte, at int64) []byte {
	b = append(append(records.AppendString(b, name), ','), place...)
	b = appendMicros(b, at-c.first)
	if i.Colour != "" {
		b = append(append(append(b, `,"cname":"`...), colourName(i.Colour)...), '"')
	}
	// No field has a name with a space.
	b = append(b, `,"args":{"on CPU":`...)
	if i.CPU == format.AllCPUs {
		b = append(b, `"all"`...)
	} else {
		b = strconv.AppendUint(b, uint64(i.CPU), 10)
	}
	for n := range i.Args {
		b = c.itemArg(b, &i.Args[n])
	}
	return append(c.stackOf(i.Stack).endArgs(b), '}')
}

// colourName maps a colour group to one of the colours that Chrome's viewer has names for.
func colourName(word string) string {
	names := [...]string{
		"generic_work", "good", "bad", "terrible", "yellow", "olive", "rail_response", "rail_animation", "rail_idle", "rail_load", "startup",
		"heap_dump_stack_frame", "cq_build_passed", "cq_build_failed", "cq_build_abandoned", "thread_state_iowait",
	}
	return names[crc32.ChecksumIEEE([]byte(word))%uint32(len(names))]
}

// counterOf returns what distinguishes the counters of threads and CPUs, and those of different units: viewers identify them by
// process and name only.
func (c *conversion) counterOf(i *tracks.Item) (name string) {
	switch i.On {
	case format.TypeTrack_TRACK_THREAD:
		name = " " + strconv.Itoa(int(i.Task.Def.Tid))
	case format.TypeTrack_TRACK_CPU:
		name = " CPU " + strconv.FormatUint(uint64(i.CPU), 10)
	}
	if i.Unit != "" {
		name += " (" + c.texts.Clean([]byte(i.Unit)) + ")"
	}
	return name
}

func (c *conversion) itemArg(b []byte, a *tracks.Arg) []byte {
	b = append(records.AppendString(append(b, ','), a.Name), ':')
	switch a.Type {
	case tracks.ArgUint:
		return strconv.AppendUint(b, a.Number, 10)
	case tracks.ArgInt:
		return strconv.AppendInt(b, int64(a.Number), 10)
	case tracks.ArgFloat:
		return records.AppendFloat(b, math.Float64frombits(a.Number))
	case tracks.ArgStack:
		return records.AppendStrings(b, a.Stack.Shown())
	case tracks.ArgTask:
		return append(append(append(b, '"'), c.task(a.Task).label...), '"')
	}
	return records.AppendString(b, c.texts.Clip([]byte(a.Text)))
}
