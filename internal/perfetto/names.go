package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/stacks"
)

// label is the number of what a task is called in annotations.
func (w *view) label(k *task) uint64 {
	w.refresh(k)
	if k.names.label == 0 {
		w.e.out, k.names.label = w.seq.text(w.e.out, w.called(k))
	}
	return k.names.label
}

// wakes is the number of the name of an instant at which a task is woken.
func (w *view) wakes(k *task) uint64 {
	w.refresh(k)
	if k.names.wakes == 0 {
		w.e.out, k.names.wakes = w.seq.name(w.e.out, "wakes "+w.called(k))
	}
	return k.names.wakes
}

// preempts is the number of the name of an instant at which a task is preempted.
func (w *view) preempts(k *task) uint64 {
	w.refresh(k)
	if k.names.preempts == 0 {
		w.e.out, k.names.preempts = w.seq.name(w.e.out, "preempts "+w.called(k))
	}
	return k.names.preempts
}

func (w *view) refresh(k *task) {
	if k.names.generation != w.seq.generation {
		k.names = taskNames{generation: w.seq.generation}
	}
}

// called is a task's name, with its ids if they were asked for.
func (w *view) called(k *task) string {
	if k.tid == 0 {
		return "idle"
	}
	if !w.on.TIDPID {
		return string(k.name)
	}
	name := string(k.name) + " " + strconv.Itoa(int(k.tid))
	if k.pid != k.tid {
		name += " of " + strconv.Itoa(int(k.pid))
	}
	return name
}

// onCPU is the number of the name of a slice on a CPU.
func (w *view) onCPU(cpu uint32, open bool) uint64 {
	if open {
		return w.name("on CPU " + strconv.Itoa(int(cpu)) + stillOpen)
	}
	if uint64(cpu) >= uint64(len(w.e.cpus)) || w.e.cpus[cpu] == nil {
		return w.name("on CPU " + strconv.Itoa(int(cpu)))
	}
	c := w.e.cpus[cpu]
	if c.onCPU.generation != w.seq.generation {
		c.onCPU = cpuName{w.seq.generation, w.name("on CPU " + strconv.Itoa(int(cpu)))}
	}
	return c.onCPU.name
}

// stillOpen marks what had not ended when the window closed.
const stillOpen = " (open)"

// cpuName is the number of a CPU's name, as of a generation of the sequence.
type cpuName struct {
	generation uint32
	name       uint64
}

// stateText is what a sequence was told of a state.
type stateText struct {
	text uint64
	name uint64 // of a block in it of which no stack was taken
}

// stateOf tells Perfetto of a state.
func (w *view) stateOf(state format.State) stateText {
	if known, found := w.seq.states[state]; found {
		return known
	}
	of := stateText{text: w.text(state.String()), name: w.name(stacks.BlockedName("", state))}
	w.seq.states[state] = of
	return of
}

// name is the number of a name, for those that are rare.
func (w *view) name(name string) (id uint64) {
	w.e.out, id = w.seq.name(w.e.out, name)
	return id
}

func (w *view) text(text string) (id uint64) {
	w.e.out, id = w.seq.text(w.e.out, text)
	return id
}
