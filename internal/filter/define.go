package filter

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// definitions look up the ids of a section.
type definitions interface {
	Task(format.TaskID) *format.Task
	Stack(format.StackID) *format.Stack
	Frame(uint32) *format.Frame
	Module(uint32) *format.Module
	Command(uint32) *format.Command
	EventType(uint32) *format.EventType
	Text(uint32) *format.Text
	Wait(format.WaitID) *format.Wait
}

// defined has the ids of the definitions in the output's section.
type defined struct {
	tasks    idSet[format.TaskID]
	stacks   idSet[format.StackID]
	frames   idSet[uint32]
	modules  idSet[uint32]
	commands idSet[uint32]
	types    idSet[uint32]
	texts    idSet[uint32]
	waits    idSet[format.WaitID]
}

func (d *defined) clear() {
	d.tasks.clear()
	d.stacks.clear()
	d.frames.clear()
	d.modules.clear()
	d.commands.clear()
	d.types.clear()
	d.texts.clear()
	d.waits.clear()
}

// defineFor defines what an event refers to: its threads, including hidden ones, and its stack.
func (f *Filter) defineFor(e *format.Event) error {
	if e.Task != 0 && !f.defined.tasks.has(e.Task) {
		if err := f.defineTask(e.Task); err != nil {
			return err
		}
	}
	if e.Kind == format.KindTyped {
		if err := f.defineTyped(e); err != nil {
			return err
		}
	}
	n := &f.idFields[e.Kind]
	if n.stack >= 0 && e.Args[n.stack] != 0 {
		if err := f.defineStack(format.StackID(e.Args[n.stack])); err != nil {
			return err
		}
	}
	if n.wait >= 0 && e.Args[n.wait] != 0 {
		if err := f.defineWait(format.WaitID(e.Args[n.wait])); err != nil {
			return err
		}
	}
	if n.other < 0 {
		return nil
	}
	if id := format.TaskID(e.Args[n.other]); id != 0 && !f.defined.tasks.has(id) {
		return f.defineTask(id)
	}
	return nil
}

func (f *Filter) defineWait(id format.WaitID) error {
	return once(&f.defined.waits, id, func() error { return f.w.DefineWait(orLost(f.defs.Wait(id), id, format.LostWait)) })
}

// hideStack removes where a hidden thread was from a switch that is kept for the other thread. A waking keeps the stack
// of its waker, which explains why the wakee continues.
func hideStack(e *format.Event) {
	if e.Kind == format.KindSwitch && e.Flags&format.FlagObject == 0 {
		e.Switch().ClearStack()
		e.Switch().ClearWait()
	}
}

// once defines an id unless the output's section has it. If that fails, the id stays undefined.
func once[T ~uint32](has *idSet[T], id T, define func() error) error {
	if id == 0 || has.has(id) {
		return nil
	}
	err := define()
	if err == nil {
		has.add(id)
	}
	return err
}

// orLost returns a definition, or a placeholder if it was lost to damage: readers of the output must not report
// that damage again.
func orLost[T ~uint32, D any](d *D, id T, lost func(T) *D) *D {
	if d == nil {
		return lost(id)
	}
	return d
}

// defineTask writes a task after those that it continues, each after its command line and the path of its cgroup.
func (f *Filter) defineTask(id format.TaskID) (err error) {
	var chain []*format.Task
	for id != 0 && !f.defined.tasks.has(id) {
		f.defined.tasks.add(id)
		d := orLost(f.defs.Task(id), id, format.LostTask)
		chain = append(chain, d)
		id = format.TaskID(d.Continues)
	}
	if id != 0 && slices.ContainsFunc(chain, func(d *format.Task) bool { return d.Id == uint32(id) }) {
		f.impossible(fmt.Sprintf("task %d continues itself", id))
		first := proto.CloneOf(chain[len(chain)-1])
		first.Continues = 0
		chain[len(chain)-1] = first
	}
	for _, d := range slices.Backward(chain) {
		if err == nil {
			err = f.defineCommand(d.Command)
		}
		if err == nil {
			err = f.defineText(d.Cgroup)
		}
		if err == nil {
			err = f.w.DefineTask(d)
		}
		if err != nil {
			f.defined.tasks.remove(format.TaskID(d.Id))
		}
	}
	return err
}

func (f *Filter) defineCommand(id uint32) error {
	return once(&f.defined.commands, id, func() error { return f.w.DefineCommand(orLost(f.defs.Command(id), id, format.LostCommand)) })
}

// defineStack writes a stack after its frames, and these after their modules.
func (f *Filter) defineStack(id format.StackID) error {
	return once(&f.defined.stacks, id, func() error {
		d := orLost(f.defs.Stack(id), id, format.LostStack)
		if problem := d.Problem(f.moduleOf); problem != "" {
			f.impossible(problem)
			d = format.LostStack(id)
		}
		for _, frame := range d.Frames {
			if err := f.defineFrame(frame); err != nil {
				return err
			}
		}
		if f.o.Stack != nil && len(d.Frames) > 0 {
			if outermost := f.defs.Frame(d.Frames[0]); outermost != nil {
				d = f.o.Stack(d, outermost, f.defs.Module(outermost.Module))
			}
		}
		return f.w.DefineStack(d)
	})
}

// maxNamed is the number of bytes of definitions in a section from which on frames get no more names, whatever writer made it.
const maxNamed = 3 * format.EpochBytes / 2

// Half of the room for names is kept for frames that get a name alone: those with lines take several times as much.
const (
	maxLined      = 5 * format.EpochBytes / 4
	maxLinedBytes = format.MaxNameBytes / 2
)

func (f *Filter) defineFrame(id uint32) error {
	return once(&f.defined.frames, id, func() error {
		d := orLost(f.defs.Frame(id), id, format.LostFrame)
		if problem := d.Problem(f.defs.Module(d.Module)); problem != "" {
			f.impossible(problem)
			d = format.LostFrame(id)
		}
		if err := f.defineModule(d.Module); err != nil {
			return err
		}
		d, err := f.defineLoop(d)
		if err != nil {
			return err
		}
		if f.o.Frame == nil || f.named > format.MaxNameBytes || f.w.DefinitionBytes() > maxNamed {
			return f.w.DefineFrame(d)
		}
		before := f.w.DefinitionBytes()
		err = f.w.DefineFrame(f.o.Frame(d, f.defs.Module(d.Module), f.named <= maxLinedBytes && before <= maxLined))
		f.named += f.w.DefinitionBytes() - before
		return err
	})
}

// defineLoop writes the frame that a frame of Python stands in place of, and returns the frame, without that if it is one of Python itself.
func (f *Filter) defineLoop(d *format.Frame) (*format.Frame, error) {
	if d.Loop == 0 {
		return d, nil
	}
	if f.defs.Frame(d.Loop).GetLoop() != 0 {
		f.impossible(fmt.Sprintf("frame %d stands in place of frame %d, which stands in place of another one", d.Id, d.Loop))
		d = proto.Clone(d).(*format.Frame)
		d.Loop = 0
		return d, nil
	}
	return d, f.defineFrame(d.Loop)
}

// moduleOf returns the module of a frame that is written; nil: none, or not known.
func (f *Filter) moduleOf(frame uint32) *format.Module {
	d := f.defs.Frame(frame)
	if d == nil {
		return nil
	}
	m := f.defs.Module(d.Module)
	if d.Problem(m) != "" {
		return nil
	}
	return m
}

func (f *Filter) defineModule(id uint32) error {
	return once(&f.defined.modules, id, func() error { return f.w.DefineModule(orLost(f.defs.Module(id), id, format.LostModule)) })
}

func (f *Filter) defineText(id uint32) error {
	return once(&f.defined.texts, id, func() error { return f.w.DefineText(orLost(f.defs.Text(id), id, format.LostText)) })
}

// defineType writes a type, after the one whose spans its events end. The end of anything else is written as an instant.
func (f *Filter) defineType(id uint32) error {
	return once(&f.defined.types, id, func() error {
		t := orLost(f.defs.EventType(id), id, format.LostEventType)
		begin := orLost(f.defs.EventType(t.Ends), t.Ends, format.LostEventType)
		if problem := t.EndProblem(begin.MayBegin()); problem != "" {
			f.impossible(problem)
			t = proto.CloneOf(t)
			t.Shape, t.Ends = uint32(format.TypeShape_SHAPE_INSTANT), 0
		}
		err := once(&f.defined.types, t.Ends, func() error { return f.w.DefineType(begin) })
		if err != nil {
			return err
		}
		return f.w.DefineType(t)
	})
}

// impossible notes an impossible definition or event, which is written as lost or left out.
func (f *Filter) impossible(problem string) {
	if f.rejected == nil {
		f.rejected = &format.Damage{Detail: problem}
	}
	f.rejected.Holes++
}
