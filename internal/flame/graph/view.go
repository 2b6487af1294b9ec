package graph

import (
	"cmp"
	"iter"
	"path"
	"strconv"

	"wprof/internal/flame/profile"
	"wprof/internal/waits"
)

// Mode is the time that is shown.
type Mode uint8

const (
	Wall   Mode = iota // all of it
	OnCPU              // on a CPU
	OffCPU             // off the CPU: blocked and runnable
	Waker              // off the CPU, with the wakers
	Events             // instead of time, events, see [profile.Options]
)

// Root is what root frames stand for.
type Root uint8

const (
	ByProcess Root = iota
	ByThread
	ByComm // names of threads
	ByCPU
	ByNone
	ByWait      // what threads waited for: its class, then what it is, then the process
	ByCgroup    // then the process
	ByContainer // then the process
)

// View selects which part of a profile is shown, and with which frames.
type View struct {
	Mode        Mode
	By          Root
	States      bool // a frame for why a thread was off the CPU
	Reverse     bool // innermost frame first
	Inline      bool // functions that are inlined have frames of their own
	Lines       bool // with the line in the source
	NoIdleWaits bool // leave out ClassIdle
	FoldIdle    bool // put ClassIdle into one frame at the root, IdleRoot, for pictures that draw it narrower
	// Only reports which threads are shown; nil: all.
	Only func(*profile.Thread) bool
	// From and To are slots, To beyond the last one; both 0: all time.
	From, To int
}

// Weight returns the cell's time within the view's slots. Counts are not kept for each slot, so they are divided in
// proportion to time.
func (v *View) Weight(c *profile.Cell) Weight {
	ns, w := c.Ns, Weight{Count: c.Count, Waits: c.Waits}
	if v.To > 0 && !c.Divided {
		ns, w = c.Within(v.From, v.To), Weight{Count: c.SamplesWithin(v.From, v.To)}
		if c.Ns > 0 {
			within := func(n uint64) uint64 { return uint64(float64(n)*float64(ns)/float64(c.Ns) + 0.5) }
			w = Weight{Count: within(c.Count), Waits: within(c.Waits)}
		}
	}
	switch {
	case c.Class.OnCPU() || c.Class == profile.ClassEvent:
		w.On = ns
	case c.Class.OffCPU():
		w.Off = ns
	default:
		w.Unknown = ns
	}
	return w
}

// Shows reports whether the view includes time of a class.
func (v *View) Shows(c profile.Class) bool {
	if c == profile.ClassIdle && v.NoIdleWaits {
		return false
	}
	switch v.Mode {
	case OnCPU:
		return c.OnCPU()
	case OffCPU, Waker:
		return c.OffCPU()
	}
	return true
}

// mark returns the mark of the last frame; only a view with time both on and off the CPU has marks.
func (v *View) mark(c profile.Class) Mark {
	switch {
	case v.Mode != Wall:
		return MarkNone
	case c.OnCPU():
		return MarkOn
	case c.OffCPU():
		return MarkOff
	}
	return MarkNone
}

// Note returns the frame for why a thread was off the CPU; "" for none. [runnable] and [idle] are always shown,
// other reasons only with States.
func (v *View) Note(c *profile.Cell) string {
	switch {
	case c.Class == profile.ClassPreempted && !v.States:
		return profile.ClassRunnable.Note()
	case c.Class == profile.ClassBlocked && v.States:
		return c.WaitNote()
	}
	return c.Class.Note()
}

// Names yields the names of a place's frames, outermost first.
func (v *View) Names(f *profile.Frame) iter.Seq[string] {
	shown := f.Functions
	if !v.Inline {
		shown = shown[:1]
	}
	return func(yield func(string) bool) {
		for i := range shown {
			if !yield(v.NameOf(&shown[i])) {
				return
			}
		}
	}
}

// NameOf returns the name of a function, with its line if the view shows lines.
func (v *View) NameOf(f *profile.Function) string {
	if !v.Lines || f.Line == 0 {
		return f.Name
	}
	return f.Name + " (" + path.Base(f.File) + ":" + strconv.FormatUint(uint64(f.Line), 10) + ")"
}

// Root returns the name of the root frame of a cell; "" for none.
func (v *View) Root(p *profile.Profile, c *profile.Cell) string {
	switch v.By {
	case ByProcess, ByThread, ByComm:
		return RootName(&p.Labels[c.Label], v.By)
	case ByCPU:
		return CPURoot(c.CPU)
	case ByWait:
		return WaitRoot(c)
	case ByCgroup, ByContainer:
		return RootName(&p.Labels[c.Label], v.By)
	}
	return ""
}

// OnCgroup reports whether root frames depend on the cgroup, see [profile.Options].
func (r Root) OnCgroup() bool { return r == ByCgroup || r == ByContainer }

// RootName returns the name of the root frame of a thread with this label. Labels of merged threads have no ids.
func RootName(l *profile.Label, by Root) string {
	switch {
	case by == ByProcess && l.PID != 0:
		return l.Process + "-" + strconv.Itoa(int(l.PID))
	case by == ByProcess:
		return l.Process
	case by == ByCgroup:
		return cmp.Or(l.Place().Cgroup, profile.UnknownCgroup)
	case by == ByContainer:
		return cmp.Or(l.Place().Container, profile.UnknownCgroup)
	case by == ByThread && l.PID != 0:
		return l.Thread() + "-" + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID))
	}
	return l.Comm
}

// rootKind returns the kind of the root frame of a cell.
func (v *View) rootKind(c *profile.Cell) Kind {
	if v.By == ByWait {
		return WaitKind(c)
	}
	return KindRoot
}

// WaitKind returns the kind of the root frame of a cell by what its thread waited for.
func WaitKind(c *profile.Cell) Kind {
	switch {
	case c.Class == profile.ClassBlocked || c.Class == profile.ClassIdle:
		return KindWait + Kind(c.Wait.Class)
	case c.Class == profile.ClassPreempted:
		return KindWait + Kind(waits.Preempted)
	case c.Class == profile.ClassThrottled:
		return KindWait + Kind(waits.Throttled)
	case c.Class.Delay():
		return KindWait + Kind(waits.Runnable)
	}
	return KindRoot
}

// WaitRoot returns the name of the root frame of a cell by what its thread waited for.
func WaitRoot(c *profile.Cell) string {
	switch {
	case c.Class.OnCPU():
		return "on-CPU"
	case c.Class == profile.ClassUnknown:
		return "not recorded"
	case c.Class == profile.ClassBlocked || c.Class == profile.ClassIdle && c.Wait.Class != waits.Unknown:
		return c.Wait.Class.String()
	}
	return c.Reason()
}

func CPURoot(cpu uint32) string { return "CPU " + strconv.FormatUint(uint64(cpu), 10) }

// Threads yields the threads of the view.
func (v *View) Threads(p *profile.Profile) iter.Seq[*profile.Thread] {
	return func(yield func(*profile.Thread) bool) {
		for _, t := range p.Threads {
			if (v.Only == nil || v.Only(t)) && !yield(t) {
				return
			}
		}
	}
}

// apart returns what the view keeps apart.
func (v *View) apart() profile.Apart {
	return profile.Apart{Threads: v.By == ByThread, Processes: v.By == ByThread || v.By == ByProcess || v.By == ByWait || v.By.OnCgroup(), CPUs: v.By == ByCPU, Cgroups: v.By.OnCgroup()}
}

// Sampling returns how well the on-CPU time of the view's threads is sampled, whether or not the view shows it.
func (v *View) Sampling(p *profile.Profile) profile.Quality {
	_, q := p.Attribute(v.Threads(p), v.From, v.To, v.apart())
	return q
}

// EachCell visits the cells of the view, those of on-CPU time as [profile.Profile.Attribute] returns them.
func (v *View) EachCell(p *profile.Profile, visit func(*profile.Cell)) {
	for t := range v.Threads(p) {
		for i := range t.Cells {
			c := &t.Cells[i]
			if v.Shows(c.Class) && (c.Ns != 0 || c.Count != 0 || c.Waits != 0) && !(p.About.Spread && c.Class == profile.ClassOnCPU) {
				visit(c)
			}
		}
	}
	if p.About.Spread && v.Shows(profile.ClassOnCPU) {
		all, _ := p.Attribute(v.Threads(p), v.From, v.To, v.apart())
		for i := range all {
			visit(&all[i])
		}
	}
}

// IdleRoot is the name of the frame that has all waits for work with [View].FoldIdle.
func IdleRoot() string { return profile.ClassIdle.Note() }

// folds reports whether the view puts time of a class into IdleRoot.
func (v *View) folds(c profile.Class) bool { return v.FoldIdle && c == profile.ClassIdle }

// Notes returns every note that a view may add to a stack.
func Notes() []string {
	return append(profile.Notes(), WakerMark, NotWoken, UnknownWaker)
}

// NoteKind returns the kind of a note.
func NoteKind(note string) Kind {
	if note == profile.ClassRunnable.Note() || note == profile.ClassPreempted.Note() || note == profile.ClassThrottled.Note() {
		return KindDelay
	}
	return KindNote
}
