package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// label returns the id of a task's name in annotations; 0: it is nil, or was not described.
func (w *view) label(of *tracks.Task) uint64 {
	k := w.threads.known(of)
	if k == nil {
		return 0
	}
	w.refresh(k)
	if k.names.label == 0 {
		k.names.label = w.text(w.called(k))
	}
	return k.names.label
}

// argumentLabel returns the id of a task's name with its id, for an argument of an item.
func (w *view) argumentLabel(of *tracks.Task) uint64 {
	k := w.threads.known(of)
	if k == nil {
		return w.text(withTID(stacks.Printable(of.Def.Comm, stacks.Unnamed), of.Def.Tid))
	}
	w.refresh(k)
	if k.names.argument == 0 {
		k.names.argument = w.text(w.calledWithID(k))
	}
	return k.names.argument
}

func withTID(name []byte, tid int32) string { return string(name) + " " + strconv.Itoa(int(tid)) }

// changeName returns the id of the name of an instant at which a task is woken or preempted.
func (w *view) changeName(kind tracks.InstantKind, k *task) uint64 {
	w.refresh(k)
	id := &k.names.wakes
	if kind == tracks.Preempts {
		id = &k.names.preempts
	}
	if *id == 0 {
		*id = w.name(kind.String() + " " + w.called(k))
	}
	return *id
}

// context returns the id of the text for a waking in an interrupt; 0 for one by a thread.
func (w *view) context(interrupt bool) uint64 {
	if !interrupt {
		return 0
	}
	return w.text("interrupt")
}

// interrupt returns the text of the interrupt that woke a thread; 0: none is known.
func (w *view) interrupt(s *tracks.Slice) uint64 {
	if s.WakingInterrupt == "" {
		return 0
	}
	return w.text(shownText(s.WakingInterrupt))
}

func (w *view) refresh(k *task) {
	if k.names.generation != w.seq.generation {
		k.names = taskNames{generation: w.seq.generation}
	}
}

// called returns a task's name, with its ids if requested.
func (w *view) called(k *task) string {
	if k.tid == 0 {
		return "idle"
	}
	if !w.on.TIDPID {
		return string(k.name)
	}
	return w.calledWithID(k)
}

func (w *view) calledWithID(k *task) string {
	if k.tid == 0 {
		return "idle"
	}
	name := withTID(k.name, k.tid)
	if k.pid != k.tid {
		name += " of " + strconv.Itoa(int(k.pid))
	}
	return name
}

// onCPU returns the id of the name of a slice on a CPU.
func (w *view) onCPU(cpu uint32, open bool) uint64 {
	if open {
		return w.name("on CPU " + strconv.Itoa(int(cpu)) + stillOpen)
	}
	if cpu >= maxCPUs {
		return w.name("on CPU " + strconv.Itoa(int(cpu)))
	}
	for len(w.cpuNames) <= int(cpu) {
		w.cpuNames = append(w.cpuNames, cpuName{})
	}
	c := &w.cpuNames[cpu]
	if c.generation != w.seq.generation {
		*c = cpuName{w.seq.generation, w.name("on CPU " + strconv.Itoa(int(cpu)))}
	}
	return c.name
}

// stillOpen marks what had not ended when the window closed.
const stillOpen = " (open)"

// cpuName is the id of a CPU's name, valid in one generation of the sequence.
type cpuName struct {
	generation uint32
	name       uint64
}

// stateText holds the id of a state's text.
type stateText struct{ text uint64 }

// stateOf returns the ids of a state's texts, which it describes if they are new.
func (w *view) stateOf(state format.State) stateText {
	if known, found := w.seq.states[state]; found {
		return known
	}
	of := stateText{text: w.text(state.String())}
	w.seq.states[state] = of
	return of
}

// name returns the id of a name; for rare ones, because it is looked up in a map.
func (w *view) name(name string) (id uint64) {
	w.out, id = w.seq.name(w.out, name)
	return id
}

func (w *view) text(text string) (id uint64) {
	w.out, id = w.seq.text(w.out, text)
	return id
}
