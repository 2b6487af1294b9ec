package chrome

import (
	"strconv"

	"wprof/internal/records"
	"wprof/internal/tracks"
)

// Instant implements [tracks.Encoder].
func (c *conversion) Instant(i *tracks.Instant) {
	if i.Kind == tracks.Wakes || i.Kind == tracks.Preempts {
		c.wakesOrPreempts(i)
		return
	}
	k, object := c.task(i.Task), &task{}
	if i.Object != nil {
		object = c.task(i.Object)
	}
	place := c.placeOf(k, i.CPU)
	b := append(c.out.next(), `{"ph":"i","s":"t","cat":"life","name":`...)
	b = records.AppendString(b, i.Name(k.comm, object.comm, c.texts.Clip(i.Path)))
	b = appendMicros(append(append(b, ','), place...), i.At-c.first)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(i.CPU), 10)
	switch i.Kind {
	case tracks.Forks:
		b = strconv.AppendInt(append(b, `,"child":`...), int64(object.tid), 10)
	case tracks.Exits:
		b = strconv.AppendUint(append(b, `,"code":`...), i.Code, 10)
		if i.Signal != 0 {
			b = strconv.AppendUint(append(b, `,"signal":`...), i.Signal, 10)
		}
	}
	c.out.b = append(b, "}}"...)
}

// Sample implements [tracks.Encoder].
func (c *conversion) Sample(s *tracks.Sample) {
	if s.Task == nil || !s.Task.IsThread() {
		return
	}
	place := c.placeOf(c.task(s.Task), s.CPU)
	b := append(append(c.out.next(), `{"ph":"i","s":"t","cat":"sample","name":"sample",`...), place...)
	b = appendMicros(b, s.At-c.first)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(s.CPU), 10)
	of := c.stackOf(s.Stack)
	if of.innermost != "" {
		b = append(append(b, `,"function":`...), of.innermost...)
	}
	c.out.b = append(of.endArgs(b), '}')
}
