package format

import "io"

// AllDefinitions are the definitions of a whole section of a file, for tools that need some before the events that use them.
type AllDefinitions struct{ defs definitions }

// ReadDefinitions reads the definition blocks of a section. Those that are damaged are left out: reading the stream reports them.
func ReadDefinitions(r io.ReaderAt, s *SectionSummary) *AllDefinitions {
	w := &walker{r: r}
	all := new(AllDefinitions)
	for _, e := range s.Index.GetBlocks() {
		if e.Type != uint32(BlockDefinitions) {
			continue
		}
		if payload, err := w.block(s.Offset+int64(e.Offset), BlockDefinitions); err == nil {
			_ = all.defs.add(payload) // what it holds up to an error is valid
		}
	}
	return all
}

// Task is [Reader.Task], as the other methods are those of the Reader.
func (d *AllDefinitions) Task(id TaskID) *Task { return d.defs.task(uint32(id)) }

func (d *AllDefinitions) Stack(id StackID) *Stack { return d.defs.stack(uint32(id)) }

func (d *AllDefinitions) Frame(id uint32) *Frame { return d.defs.frame(id) }

func (d *AllDefinitions) Module(id uint32) *Module { return d.defs.module(id) }

func (d *AllDefinitions) Command(id uint32) *Command { return d.defs.command(id) }

func (d *AllDefinitions) EventType(id uint32) *EventType { return d.defs.eventType(id) }

func (d *AllDefinitions) Text(id uint32) *Text { return d.defs.text(id) }

func (d *AllDefinitions) Wait(id WaitID) *Wait { return d.defs.wait(uint32(id)) }
