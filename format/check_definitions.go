package format

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// definitions looks at a block of definitions: every id once, and nothing named before it is defined.
func (c *checker) definitions(block *Block) {
	if c.tally.definitions > maxSectionDefinitions {
		return // that has been told, and a packed block of no use takes seconds
	}
	err := c.voc.eachMember(new(Definitions).ProtoReflect(), block.Payload, func(m member) {
		if m.m == nil {
			return
		}
		if m.isCounted() {
			c.tally.definitions++
		}
		c.definition(m)
	})
	if err != nil {
		c.found("definitions", "%v", err)
	}
}

func (c *checker) definition(m member) {
	word := m.detail.word
	if c.tally.definitions > maxSectionDefinitions {
		if c.tally.definitions == maxSectionDefinitions+1 {
			c.found("definitions", "the section has more than %d definitions; the rest is not looked at", maxSectionDefinitions)
		}
		return
	}
	switch d := m.m.Interface().(type) {
	case *ClockSnapshot:
		return
	case *Task:
		// One whose definition was lost may have been idle.
		if d.IsIdle() || d.IsLost() {
			if c.ids.idle == nil {
				c.ids.idle = map[TaskID]bool{}
			}
			c.ids.idle[TaskID(d.Id)] = true
		}
		c.refers(word, d.Id, "task", d.Continues)
		c.refers(word, d.Id, "cmdline", d.Command)
	case *Frame:
		c.refers(word, d.Id, "module", d.Module)
		c.frame(d)
	case *Module:
		if !c.ids.has("module", d.Id) {
			c.modules.add(d)
		}
	case *Stack:
		c.stack(d)
	case *EventType:
		c.refers(word, d.Id, "eventtype", d.Ends)
		if problem := d.Problem(); problem != "" && !d.IsLost() {
			c.found("definitions", "%s", problem)
		}
		c.types.add(d)
	}
	id := uint32(m.m.Get(m.m.Descriptor().Fields().ByName("id")).Uint())
	if id == 0 {
		c.found("definitions", "a %s is defined as 0, which names none", word)
	} else if !c.ids.add(protoreflect.Name(word), id) {
		c.found("definitions", "%s %d is defined twice", word, id)
	}
}

func (c *checker) refers(word string, id uint32, to protoreflect.Name, target uint32) {
	if target != 0 && !c.ids.has(to, target) {
		c.found("definitions", "%s %d names %s %d, which is not defined before it", word, id, to, target)
	}
}
