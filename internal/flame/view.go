package flame

import "strconv"

// Mode is what part of the time is told.
type Mode uint8

const (
	Wall   Mode = iota // all of it
	OnCPU              // on a CPU
	OffCPU             // off the CPU: blocked, and waiting for a CPU
	Waker              // off the CPU, with who ended it
)

// Root is what stands below the stacks.
type Root uint8

const (
	ByProcess Root = iota
	ByThread
	ByComm // names of threads
	ByCPU
	ByNone
)

// View says which part of a profile is told, and how its frames are put together.
type View struct {
	Mode        Mode
	By          Root
	States      bool // a frame for why a thread was off the CPU
	Reverse     bool // innermost frame first
	NoIdleWaits bool // leave out ClassIdle
	// Only says which threads are told; nil: all.
	Only func(*Thread) bool
	// From and To are slots, To beyond the last one; both 0: all time.
	From, To int
}

// weight is the cell's time within the view's slots. How often something was is not kept for each of them: it is shared
// out by time.
func (v *View) weight(c *Cell) Weight {
	ns, count := c.Ns, c.Count
	if v.To > 0 {
		ns, count = 0, 0
		for _, s := range c.Slots {
			if int(s.Slot) >= v.From && int(s.Slot) < v.To {
				ns += s.Ns
			}
		}
		if c.Ns > 0 {
			count = uint64(float64(c.Count)*float64(ns)/float64(c.Ns) + 0.5)
		}
	}
	w := Weight{Count: count}
	switch {
	case c.Class.OnCPU():
		w.On = ns
	case c.Class.OffCPU():
		w.Off = ns
	default:
		w.Unknown = ns
	}
	return w
}

// tells says whether the view has the time of a class.
func (v *View) tells(c Class) bool {
	if c == ClassIdle && v.NoIdleWaits {
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

// mark is how the last frame is marked: only where a view has time on and off the CPU.
func (v *View) mark(c Class) Mark {
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

// note is the frame that says why a thread was off the CPU; "" for none. That it could have run, or waited for work, is
// always told.
func (v *View) note(c *Cell) string {
	switch {
	case c.Class == ClassPreempted && !v.States:
		return classNames[ClassRunnable]
	case c.Class == ClassBlocked && v.States:
		return "[" + Reason(c.Class, c.State) + "]"
	}
	return classNames[c.Class]
}

// root is what stands below the stack of a cell; "" for nothing.
func (v *View) root(p *Profile, c *Cell) string {
	switch v.By {
	case ByProcess, ByThread, ByComm:
		return p.Labels[c.Label].root(v.By)
	case ByCPU:
		return cpuRoot(c.CPU)
	}
	return ""
}

// root is what stands below the stacks of a thread with this label, which has no ids where threads were not told apart.
func (l *Label) root(by Root) string {
	switch {
	case by == ByProcess && l.PID != 0:
		return l.Process + "-" + strconv.Itoa(int(l.PID))
	case by == ByProcess:
		return l.Process
	case by == ByThread && l.PID != 0:
		return l.Comm + "-" + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID))
	}
	return l.Comm
}

func cpuRoot(cpu uint32) string { return "CPU " + strconv.FormatUint(uint64(cpu), 10) }
