package check

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
)

// definitions checks a block of definitions: every id once, and nothing named before it is defined.
func (c *checker) definitions(block *format.Block) {
	if c.members > format.MaxSectionDefinitions {
		return // that has been reported, and a compressed block without definitions may take seconds
	}
	err := raw.EachMember(new(format.Definitions).ProtoReflect(), block.Payload, func(m raw.Member) {
		if m.Message == nil {
			return
		}
		if raw.IsCounted(m.Field) {
			c.tally.Definitions++
		}
		c.members++
		c.definition(m)
	})
	if err != nil {
		c.found("definitions", "%v", err)
	}
}

func (c *checker) definition(m raw.Member) {
	word := c.words[m.Field]
	if c.members > format.MaxSectionDefinitions {
		if c.members == format.MaxSectionDefinitions+1 {
			c.found("definitions", "the section has more than %d definitions; the rest is not checked", format.MaxSectionDefinitions)
		}
		return
	}
	switch d := m.Message.Interface().(type) {
	case *format.ClockSnapshot:
		return
	case *format.Task:
		// One whose definition was lost may have been idle.
		if d.IsIdle() || d.IsLost() {
			if c.ids.idle == nil {
				c.ids.idle = map[format.TaskID]bool{}
			}
			c.ids.idle[format.TaskID(d.Id)] = true
		}
		c.refers(word, d.Id, "task", d.Continues)
		c.refers(word, d.Id, "cmdline", d.Command)
		c.refers(word, d.Id, "text", d.Cgroup)
	case *format.Frame:
		c.refers(word, d.Id, "module", d.Module)
		c.refers(word, d.Id, "frame", d.Loop)
		c.frame(d)
	case *format.Module:
		if !c.ids.has("module", d.Id) {
			c.modules.add(d)
		}
	case *format.Stack:
		c.stack(d)
	case *format.EventType:
		c.refers(word, d.Id, "eventtype", d.Ends)
		c.eventType(d)
	case *format.Text:
		if problem := d.Problem(); problem != "" {
			c.found("definitions", "%s", problem)
		}
	}
	id := uint32(m.Message.Get(m.Message.Descriptor().Fields().ByName("id")).Uint())
	if id == 0 {
		c.found("definitions", "%s 0 is defined, but 0 names none", word)
	} else if !c.ids.add(protoreflect.Name(word), id) {
		c.found("definitions", "%s %d is defined twice", word, id)
	}
}

func (c *checker) refers(word string, id uint32, to protoreflect.Name, target uint32) {
	if target != 0 && !c.ids.has(to, target) {
		c.found("definitions", "%s %d names %s %d, which is not defined before it", word, id, to, target)
	}
}
