package tracks

import (
	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
	"wprof/internal/waits"
)

// Wait is what a thread waited for while it was blocked. It does not change.
type Wait struct {
	Class waits.Class
	Def   *format.Wait // nil: it was not recorded
	Name  string       // of its slice
	Own   any          // of the encoder
}

// maxWaits bounds the waits that are kept.
const maxWaits = 1 << 14

type waitKey struct {
	wait  format.WaitID
	stack format.StackID
	state format.State
}

// waitResolver makes the waits of a section.
type waitResolver struct {
	defs    Definitions
	classes *waits.Classifier
	known   *bounded.Map[waitKey, *Wait]
}

func newWaitResolver(defs Definitions) waitResolver {
	return waitResolver{defs, waits.NewClassifier(defs), bounded.NewMap[waitKey, *Wait](maxWaits)}
}

func (r *waitResolver) newSection() {
	r.classes.NewSection()
	r.known.Clear()
}

// wait returns what a thread waited for.
func (r *waitResolver) wait(key waitKey, stack *Stack, kernelThread bool) *Wait {
	if w, found := r.known.Get(key); found {
		return w
	}
	w := &Wait{Class: r.classes.Blocked(key.stack, key.wait, key.state, kernelThread).Class, Def: r.defs.Wait(key.wait)}
	in := ""
	if stack != nil {
		in = stack.BlockedIn()
	}
	switch {
	case w.Class == waits.Unknown && in == "":
		w.Name = "blocked: " + w.Class.String() + " (" + key.state.String() + ")"
	case w.Class == waits.Unknown, w.Def == nil && w.Class != waits.Disk:
		w.Name = stacks.BlockedName(in, key.state)
	case in != "" && (w.Class == waits.KernelWork || w.Class == waits.KernelLock || w.Class == waits.Disk):
		w.Name = waits.Label(w.Class, w.Def) + ": " + in
	default:
		w.Name = waits.Label(w.Class, w.Def)
	}
	r.known.Put(key, w)
	return w
}

// ClassName returns the name of the class; "" if nothing is known.
func (w *Wait) ClassName() string {
	if w.Class == waits.Unknown {
		return ""
	}
	return w.Class.String()
}

// File returns what the descriptor is for which the thread waited: see [waits.File]; "" if it waited for none.
func (w *Wait) File() string { return waits.File(w.Def) }

// Peer returns the other end of the socket for which the thread waited: see [waits.Peer]; "" if it waited for none.
func (w *Wait) Peer() string { return waits.Peer(w.Def) }
