package profile

import (
	"strings"
)

// idleShare is the share of a thread's blocked time above which time in one stack, in a system call that waits for work,
// counts as waiting for work, not as blocked.
const idleShare = 0.9

// idleSyscall returns the system call in which the kernel part of a stack waits for work; "" if there is none.
// Threads of pools wait for a futex, and so do threads that wait for a lock: the share distinguishes them.
func idleSyscall(kernel []stackFrame) string {
	futex := false
	for i := range kernel {
		for _, line := range kernel[i].def.GetLines() {
			name := string(line.GetFunction())
			switch call := syscallOf(name); call {
			case "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6", "accept", "accept4",
				"futex_wait", "futex_waitv", "pause", "rt_sigsuspend", "sigsuspend", "rt_sigtimedwait":
				return call
			case "futex":
				futex = true
			}
			if futex && strings.HasPrefix(strings.TrimPrefix(name, "__"), "futex_wait") {
				return "futex"
			}
		}
	}
	return ""
}

// syscallOf returns the system call of a kernel function that is the entry of one; "" for other functions. The prefixes are those of the
// kernel's arch/*/include/asm/syscall_wrapper.h, the suffixes those of calls that were widened to 64 bits of time.
func syscallOf(function string) string {
	name, found := "", false
	for _, prefix := range [...]string{"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__arm64_compat_sys_", "__do_sys_", "__se_sys_"} {
		if name, found = strings.CutPrefix(function, prefix); found {
			break
		}
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.TrimSuffix(strings.TrimSuffix(name, "_time64"), "_time32")
}

// findIdleWaits finds the time that a thread waited for work: its blocked time in one stack, if that is more than
// idleShare of all its blocked time and in a system call that waits for work.
func (c *collector) findIdleWaits(t *thread) {
	all := t.shortBlocked
	best, most := uint32(0), int64(0)
	times := make(map[uint32]int64)
	for i := range t.Cells {
		cell := &t.Cells[i]
		if cell.Class != ClassBlocked {
			continue
		}
		all += cell.Ns
		if c.p.Waits[cell.Stack] == "" {
			continue
		}
		same := c.sameFunctions(cell.Stack)
		times[same] += cell.Ns
		if times[same] > most {
			best, most = same, times[same]
		}
	}
	if most == 0 || float64(most) <= idleShare*float64(all) {
		return
	}
	for i := range t.Cells {
		cell := &t.Cells[i]
		if cell.Class == ClassBlocked && c.p.Waits[cell.Stack] != "" && c.sameFunctions(cell.Stack) == best {
			cell.Class = ClassIdle
			t.idle = append(t.idle, cell.Stack)
		}
	}
}

// sameFunctions returns a number that all stacks with the same functions have: with Options.Addresses, Inline or Lines their nodes may differ.
func (c *collector) sameFunctions(id NodeID) uint32 {
	if !c.o.Addresses && !c.o.Inline && !c.o.Lines {
		return uint32(id)
	}
	if known, found := c.same[id]; found {
		return known
	}
	path := c.p.functionsOf(id)
	number, found := c.paths[path]
	if !found {
		number = uint32(len(c.paths))
		c.paths[path] = number
	}
	c.same[id] = number
	return number
}

// functionsOf returns the functions of a stack in one text, without what is inlined.
func (p *Profile) functionsOf(id NodeID) string {
	var path strings.Builder
	for ; id != 0; id = p.Nodes[id].Parent {
		path.WriteString(p.Frames[p.Nodes[id].Frame].Functions[0].Name)
		path.WriteByte(';')
	}
	return path.String()
}

// idleTrail is a trail in which the pieces with stacks in idle have ClassIdle.
type idleTrail struct {
	Trail
	idle []NodeID
}

func (t idleTrail) Each(visit func(*Piece) error) error {
	return t.Trail.Each(func(p *Piece) error {
		if p.Class != ClassBlocked {
			return visit(p)
		}
		for _, id := range t.idle {
			if id == p.Stack {
				idle := *p
				idle.Class = ClassIdle
				return visit(&idle)
			}
		}
		return visit(p)
	})
}

// ShareIdleWaits gives stacks that are waits for work in one of two profiles that class in both: a stack with just over idleShare
// of the blocked time in one and just under it in the other must not look like a difference.
func ShareIdleWaits(a, b *Profile) {
	idle := make(map[string]bool)
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassIdle, func(_ *Cell, key string) { idle[key] = true })
	}
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassBlocked, func(c *Cell, key string) {
			if idle[key] {
				c.Class = ClassIdle
			}
		})
	}
}

// eachWait visits the cells of a class that are in system calls that wait for work, each with its thread's name and its
// functions in one text.
func (p *Profile) eachWait(class Class, visit func(c *Cell, key string)) {
	for _, t := range p.Threads {
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Class == class && p.Waits[c.Stack] != "" {
				visit(c, p.Labels[c.Label].Comm+"\x00"+p.functionsOf(c.Stack))
			}
		}
	}
}
