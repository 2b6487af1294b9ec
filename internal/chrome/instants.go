package chrome

import (
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/stacks"
)

// happened draws what happens to a thread at one moment.
func (c *conversion) happened(v *format.Event) {
	if v.Flags&format.FlagSubject == 0 {
		return
	}
	if v.Kind == format.KindTyped {
		c.tasks.of(v.Task) // a span that begins here may be drawn when the section has ended
		c.drawAll(c.typed.Items(v))
		return
	}
	if i := c.plain.Item(v); i != nil {
		c.item(i)
		return
	}
	k := c.tasks.of(v.Task)
	if k == nil || k.idle {
		return
	}
	at := happenedAt(v)
	switch v.Kind {
	case format.KindSample:
		c.sampled(k, v, at)
	case format.KindFork:
		child := c.tasks.of(format.TaskID(v.Args[format.ForkChild]))
		if child == nil || v.Flags&format.FlagObject == 0 {
			return
		}
		c.instant(k, v.CPU, at, "fork: "+child.comm, func(b []byte) []byte {
			return strconv.AppendInt(append(b, `,"child":`...), int64(child.tid), 10)
		})
	case format.KindExec:
		c.instant(k, v.CPU, at, "exec: "+c.texts.Clean(stacks.Clipped(v.Data)), nil)
	case format.KindRename:
		if before := c.tasks.of(format.TaskID(v.Args[format.RenamePrev])); before != nil {
			c.instant(k, v.CPU, at, "rename: "+before.comm+" to "+k.comm, nil)
		}
	case format.KindExit:
		c.instant(k, v.CPU, at, "exit", func(b []byte) []byte { return appendExit(b, v.Args[format.ExitCode]) })
	}
}

// appendExit appends a status as wait(2) tells it.
func appendExit(b []byte, code uint64) []byte {
	b = strconv.AppendUint(append(b, `,"code":`...), code>>8&0xff, 10)
	if signal := code & 0x7f; signal != 0 {
		b = strconv.AppendUint(append(b, `,"signal":`...), signal, 10)
	}
	return b
}

// instant draws a moment of a thread. more may be nil.
func (c *conversion) instant(k *task, cpu uint32, at int64, name string, more func([]byte) []byte) {
	place := c.placeOf(k, cpu)
	b := records.AppendString(append(c.out.next(), `{"ph":"i","s":"t","cat":"life","name":`...), name)
	b = appendMicros(append(append(b, ','), place...), at-c.first)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(cpu), 10)
	if more != nil {
		b = more(b)
	}
	c.out.b = append(b, "}}"...)
}

// sampled draws a sample.
func (c *conversion) sampled(k *task, v *format.Event, at int64) {
	place := c.placeOf(k, v.CPU)
	b := append(append(c.out.next(), `{"ph":"i","s":"t","cat":"sample","name":"sample",`...), place...)
	b = appendMicros(b, at-c.first)
	b = strconv.AppendUint(append(b, `,"args":{"cpu":`...), uint64(v.CPU), 10)
	of := c.stackOf(format.StackID(v.Args[format.SampleStack]))
	if of.innermost != "" {
		b = append(append(b, `,"function":`...), of.innermost...)
	}
	c.out.b = append(of.endArgs(b), '}')
}
