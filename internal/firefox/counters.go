package firefox

import (
	"encoding/binary"
	"math"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// maxCounters bounds the counters of a profile. The values of more are markers.
const maxCounters = 1 << 12

// maxCount is the highest value that is shown of a counter: JSON has no infinite numbers, not even as differences.
const maxCount = math.MaxFloat64 / 2

// counters holds the counters of the profile.
type counters struct {
	byKey map[counterKey]*counter
	order []*counter
}

// counterKey distinguishes counters: those of threads by their thread, those of processes by pid.
type counterKey struct {
	track, unit string
	of          threadKey
	pid         string
}

// counter is a counter and its values, which the format stores as differences.
type counter struct {
	key    counterKey
	thread *thread
	values table
	at     int64 // of the latest value, ns from first
	latest float64
}

func newCounters() counters { return counters{byKey: make(map[counterKey]*counter)} }

// count adds a value of a counter. It reports whether there is room for the counter.
func (p *profile) count(i *tracks.Item, t *thread) bool {
	key := counterKey{track: i.Track, unit: i.Unit, of: t.key}
	if i.On == format.TypeTrack_TRACK_PROCESS {
		key.of, key.pid = threadKey{}, t.pid
	}
	c := p.counters.byKey[key]
	if c == nil {
		if len(p.counters.order) == maxCounters {
			return false
		}
		c = &counter{key: key, thread: t, values: p.table()}
		p.counters.byKey[key] = c
		p.counters.order = append(p.counters.order, c)
	}
	c.thread.used = p.threads.sweeps
	at := max(i.From-p.first, c.at)
	value := min(max(i.Value, -maxCount), maxCount)
	if math.IsNaN(value) {
		value = c.latest
	}
	var difference [8]byte
	binary.LittleEndian.PutUint64(difference[:], math.Float64bits(value-c.latest))
	c.values.addText(p, difference[:], at-c.at)
	c.at, c.latest = at, value
	return true
}

// append appends the members of a counter before its values.
func (c *counter) append(b []byte, p *profile) []byte {
	name := p.texts.Name([]byte(c.key.track))
	if c.key.pid == "" && c.thread.key.tid > 0 {
		name += " of " + c.thread.name + " " + c.thread.tid
	} else if c.thread.key.tid <= cpuTID {
		name += " of " + c.thread.name
	}
	unit := "number"
	if c.key.unit == "bytes" || c.key.unit == "B" {
		unit = "bytes"
	}
	b = records.AppendString(append(b, `{"name":`...), name)
	b = records.AppendString(append(b, `,"category":"counter","description":`...), p.texts.Name([]byte(c.key.unit)))
	b = records.AppendString(append(b, `,"pid":`...), c.thread.pid)
	b = appendInt(append(b, `,"mainThreadIndex":`...), int64(c.thread.index))
	b = records.AppendString(append(b, `,"display":{"graphType":"line-accumulated","color":"blue","markerSchemaLocation":null,"sortWeight":50,"unit":"`+unit+`","label":`...), name)
	return records.AppendString(append(b, `,"tooltipRows":[{"type":"value","source":"accumulated","format":{"unit":"`+unit+`"},"label":`...), name)
}

func showDifference(b []byte, r *row) []byte {
	if len(r.text) != 8 {
		return append(b, '0')
	}
	return records.AppendFloat(b, math.Float64frombits(binary.LittleEndian.Uint64(r.text)))
}
