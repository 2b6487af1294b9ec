package tracks

import (
	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/container"
	"wprof/internal/stacks"
)

// Definitions looks up ids of the current section; nil: unknown. [format.Reader] is one.
type Definitions interface {
	EventType(id uint32) *format.EventType
	Text(id uint32) *format.Text
	Task(format.TaskID) *format.Task
	Command(id uint32) *format.Command
	Stack(format.StackID) *format.Stack
	Wait(format.WaitID) *format.Wait
	Frame(id uint32) *format.Frame
	Module(id uint32) *format.Module
	Clocks() []*format.ClockSnapshot
}

// maxStackFrames bounds the frames of all stacks that are kept.
const maxStackFrames = 4 << 20

// resolver makes tasks, stacks and frames of the ids of a section.
type resolver struct {
	defs       Definitions
	tasks      byid.Table[*Task]
	stacks     byid.Table[*Stack]
	frames     byid.Table[*Frame]
	waits      waitResolver
	places     map[string]container.Place // by path
	frameCount int                        // of the stacks in the table
	section    uint32
	python     stacks.PythonView
	ids        []uint32 // reused
}

// newSection is called when ids change their meaning.
func (r *resolver) newSection() {
	r.tasks.Clear()
	r.stacks.Clear()
	r.frames.Clear()
	r.waits.newSection()
	r.frameCount = 0
	r.section++
}

// task returns the task of an id; nil: it is not defined, or not yet.
func (r *resolver) task(id format.TaskID) *Task {
	if k := r.tasks.Get(uint32(id)); k != nil || id == 0 {
		return k
	}
	d := r.defs.Task(id)
	if d.IsLost() {
		return nil
	}
	k := r.describe(d)
	r.tasks.Put(uint32(id), k)
	return k
}

func (r *resolver) describe(d *format.Task) *Task {
	k := &Task{Def: d, Idle: d.IsIdle()}
	if d.Command != 0 {
		k.Command = r.defs.Command(d.Command)
	}
	if d.Cgroup == 0 {
		return k
	}
	if text := r.defs.Text(d.Cgroup); text != nil && container.IsPath(text.Text) {
		k.Cgroup = string(stacks.Printable(text.Text, ""))
		k.In = r.placeOf(k.Cgroup)
	}
	return k
}

// maxPlaces bounds the paths of cgroups whose places are kept: those of many tasks are the same.
const maxPlaces = 1 << 10

func (r *resolver) placeOf(path string) container.Place {
	place, found := r.places[path]
	if found {
		return place
	}
	if place = container.Of(path); len(r.places) >= maxPlaces || r.places == nil {
		r.places = make(map[string]container.Place)
	}
	r.places[path] = place
	return place
}

// stack returns the stack of an id; nil: there is none.
func (r *resolver) stack(id format.StackID) *Stack {
	if s := r.stacks.Get(uint32(id)); s != nil || id == 0 {
		return s
	}
	s := &Stack{Key: Key{r.section, uint32(id)}, Def: r.defs.Stack(id)}
	if s.Def == nil {
		return s // its definition may still come
	}
	ids, kernel := r.python.Frames(r.ids, s.Def, r.defs)
	r.keepIDs(ids)
	s.Cut = s.Def.Cut || len(ids) > stacks.MaxFrames
	s.Kernel = min(kernel, stacks.MaxFrames)
	ids = ids[max(0, len(ids)-stacks.MaxFrames):]
	s.Frames = make([]*Frame, len(ids))
	for i, id := range ids {
		s.Frames[i] = r.frame(id)
	}
	// Frames further out are not callers, and differ from stack to stack.
	ends, _ := stacks.LooksCut(len(ids)-s.Kernel, func(i int) stacks.Frame { return stacks.FrameOf(s.Frames[i].Def) })
	s.Frames = s.Frames[ends:]
	if r.frameCount += len(ids); r.frameCount > maxStackFrames {
		r.frameCount = len(ids)
		r.stacks.Clear()
	}
	r.stacks.Put(uint32(id), s)
	return s
}

// keepIDs keeps memory that [stacks.PythonView.Frames] has used.
func (r *resolver) keepIDs(ids []uint32) {
	if r.python != stacks.PythonCombined {
		r.ids = ids
	}
}

func (r *resolver) frame(id uint32) *Frame {
	if f := r.frames.Get(id); f != nil {
		return f
	}
	f := &Frame{Key: Key{r.section, id}, Def: r.defs.Frame(id)}
	if f.Def != nil {
		f.Module = r.defs.Module(f.Def.Module)
	}
	r.frames.Put(id, f)
	return f
}
