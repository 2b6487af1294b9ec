package chrome

import (
	"maps"
	"slices"
	"strconv"

	"wprof/internal/records"
)

// finish ends the trace with the metadata of all recordings of the stream.
func (c *conversion) finish(s *records.Session, lost bool) {
	b := append(c.out.b, "\n],\n"+`"displayTimeUnit":"ns","otherData":{"host":`...)
	b = records.AppendString(b, s.Host)
	b = records.AppendString(append(b, `,"boot_id":`...), s.BootID)
	if !s.Opened.IsZero() {
		b = records.AppendString(append(b, `,"start_time":`...), s.Opened.Format(records.Nanoseconds))
	}
	for i, command := range s.Extras {
		b = append(b, `,"command`...)
		if i > 0 {
			b = strconv.AppendInt(append(b, ' '), int64(i+1), 10)
		}
		b = records.AppendString(append(b, `":`...), command)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		b = records.AppendString(append(b, ','), "metadata "+key)
		b = records.AppendString(append(b, ':'), s.Metadata[key])
	}
	b = strconv.AppendBool(append(b, `,"lost":`...), lost)
	b = append(b, '}')
	if len(c.tree.text) > 0 {
		b = append(append(append(b, ",\n"+`"stackFrames":{`+"\n"...), c.tree.text...), "\n}"...)
	}
	c.out.b = append(b, "}\n"...)
}
