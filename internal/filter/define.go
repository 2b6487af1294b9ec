package filter

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// defined says which definitions the output's section has.
type defined struct {
	tasks    idSet[format.TaskID]
	stacks   idSet[format.StackID]
	frames   idSet[uint32]
	modules  idSet[uint32]
	commands idSet[uint32]
	types    idSet[uint32]
	texts    idSet[uint32]
}

func (d *defined) clear() {
	d.tasks.clear()
	d.stacks.clear()
	d.frames.clear()
	d.modules.clear()
	d.commands.clear()
	d.types.clear()
	d.texts.clear()
}

// defineFor defines what an event names: threads, hidden ones too, because they are named, though not followed; and
// its stack.
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
	if n.other < 0 {
		return nil
	}
	if id := format.TaskID(e.Args[n.other]); id != 0 && !f.defined.tasks.has(id) {
		return f.defineTask(id)
	}
	return nil
}

// hideStack takes the stack of a hidden thread out of a switch that is kept for the other one's sake. A waking keeps that
// of its waker, which says why the wakee goes on.
func hideStack(e *format.Event) {
	if e.Kind == format.KindSwitch && e.Flags&format.FlagObject == 0 {
		e.Flags &^= format.SwitchHasStack
		e.Args[format.SwitchStack] = 0
	}
}

// defineTask writes a definition after those that it continues, each after its command line. One that was lost to
// damage is written as lost: what comes after this filter must not take that for damage of its own.
func (f *Filter) defineTask(id format.TaskID) error {
	var chain []*format.Task
	for id != 0 && !f.defined.tasks.has(id) {
		f.defined.tasks.add(id)
		d := f.r.Task(id)
		if d == nil {
			d = format.LostTask(id)
		}
		chain = append(chain, d)
		id = format.TaskID(d.Continues)
	}
	if id != 0 && slices.ContainsFunc(chain, func(d *format.Task) bool { return d.Id == uint32(id) }) {
		f.impossible(fmt.Sprintf("task %d continues itself", id))
		first := proto.CloneOf(chain[len(chain)-1])
		first.Continues = 0
		chain[len(chain)-1] = first
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if err := f.defineCommand(chain[i].Command); err != nil {
			return err
		}
		if err := f.w.DefineTask(chain[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Filter) defineCommand(id uint32) error {
	if id == 0 || f.defined.commands.has(id) {
		return nil
	}
	f.defined.commands.add(id)
	d := f.r.Command(id)
	if d == nil {
		d = format.LostCommand(id)
	}
	return f.w.DefineCommand(d)
}

// defineStack writes a stack after its frames, and these after their modules. Most samples name a stack that is there.
func (f *Filter) defineStack(id format.StackID) error {
	if id == 0 || f.defined.stacks.has(id) {
		return nil
	}
	f.defined.stacks.add(id)
	d := f.r.Stack(id)
	if d == nil {
		d = format.LostStack(id)
	} else if problem := d.Problem(f.moduleOf); problem != "" {
		f.impossible(problem)
		d = format.LostStack(id)
	}
	for _, frame := range d.Frames {
		if err := f.defineFrame(frame); err != nil {
			return err
		}
	}
	return f.w.DefineStack(d)
}

// maxNamed is how many bytes of definitions a section may have before frames get no more names, whatever writer made it.
const maxNamed = 3 * format.EpochBytes / 2

func (f *Filter) defineFrame(id uint32) error {
	if id == 0 || f.defined.frames.has(id) {
		return nil
	}
	f.defined.frames.add(id)
	d := f.r.Frame(id)
	if d == nil {
		d = format.LostFrame(id)
	} else if problem := d.Problem(f.r.Module(d.Module)); problem != "" {
		f.impossible(problem)
		d = format.LostFrame(id)
	}
	if err := f.defineModule(d.Module); err != nil {
		return err
	}
	if f.o.Frame == nil || f.named > format.MostNamed || f.w.DefinitionBytes() > maxNamed {
		return f.w.DefineFrame(d)
	}
	before := f.w.DefinitionBytes()
	err := f.w.DefineFrame(f.o.Frame(d, f.r.Module(d.Module)))
	f.named += f.w.DefinitionBytes() - before
	return err
}

// moduleOf is the module of a frame that is written; nil: none, or not known.
func (f *Filter) moduleOf(frame uint32) *format.Module {
	d := f.r.Frame(frame)
	if d == nil {
		return nil
	}
	m := f.r.Module(d.Module)
	if d.Problem(m) != "" {
		return nil
	}
	return m
}

// impossible notes an impossible definition or event, which is written as lost or left out.
func (f *Filter) impossible(problem string) {
	if f.untrue == nil {
		f.untrue = &format.Damage{Detail: problem}
	}
	f.untrue.Holes++
}

func (f *Filter) defineModule(id uint32) error {
	if id == 0 || f.defined.modules.has(id) {
		return nil
	}
	f.defined.modules.add(id)
	d := f.r.Module(id)
	if d == nil {
		d = format.LostModule(id)
	}
	return f.w.DefineModule(d)
}
