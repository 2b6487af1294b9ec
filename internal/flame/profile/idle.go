package profile

import (
	"slices"
	"strings"

	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// findIdleWaits finds the time that a thread waited for work: see [waits.Places]. A place is the stacks with the same functions.
func (c *collector) findIdleWaits(t *thread) {
	if c.o.Inside != nil {
		return // a thread within a span has work
	}
	var places waits.Places[uint32]
	places.Add(0, waits.Result{}, t.shortBlocked)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassBlocked {
			places.Add(c.sameFunctions(cell.Stack), cell.Wait, cell.Ns)
		}
	}
	t.sleeps.Map(func(id uint32) uint32 { return c.sameFunctions(NodeID(id)) })
	work := places.ForWork(c.parents[t.PID], t.sleeps, c.isInner)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassBlocked && work.Has(c.sameFunctions(cell.Stack), cell.Wait) {
			cell.Class = ClassIdle
			t.idle = append(t.idle, idlePlace{cell.Stack, cell.Wait})
		}
	}
}

// maxParents bounds the processes of which it is known that child processes are counted.
const maxParents = 1 << 16

func (c *collector) noteParent(of *timeline.Thread) {
	if d := of.Def; d != nil && len(c.parents) < maxParents && (c.o.Selector == nil || c.o.Selector.Selects(d)) {
		c.parents[d.Ppid] = true
	}
}

// noteSleep notes a sleep, a wait for a semaphore, and for a wait for a lock which thread had it meanwhile.
func (c *collector) noteSleep(t *thread, s *timeline.Span, stack NodeID, r waits.Result) {
	class := r.Class
	if !isLock(class) && class != waits.Timer && r.Idle != waits.IfNotHeld {
		return
	}
	if t.sleeps == nil {
		t.sleeps = new(waits.Sleeps[uint32])
	}
	if r.Idle == waits.IfNotHeld {
		c.noteSemaphore(t, s)
		return
	}
	t.sleeps.Add(uint32(stack), class, s.From, s.To)
	if owner := c.r.Wait(s.Wait).GetOwner(); s.Open && owner != 0 && len(c.openLocks) < maxOpenLocks {
		c.openLocks = append(c.openLocks, openLock{t.PID, owner, s.From, s.To})
	}
	if isLock(class) {
		c.holdForWaker(s)
	}
}

// maxSemaphores bounds the semaphores of which it is known whether they are locks.
const maxSemaphores = 1 << 13

// noteSemaphore notes a wait for a semaphore, and which thread ended it.
func (c *collector) noteSemaphore(t *thread, s *timeline.Span) {
	key := waits.SemaphoreKey{PID: t.PID, Futex: c.r.Wait(s.Wait).GetFutex()}
	of := c.semaphores[key]
	if of == nil {
		if len(c.semaphores) >= maxSemaphores {
			return
		}
		of = new(waits.Semaphore)
		c.semaphores[key] = of
	}
	t.sleeps.AddSemaphore(of, s.To-s.From)
	if by := c.spans.Timeline().Thread(s.Off.Waker); by != nil && !s.Open && s.Off.Woken != 0 && !s.Off.WokenIRQ {
		of.Add(t.of.Def.GetTid(), by.Def.GetTid(), s.From, s.To)
	}
}

func isLock(class waits.Class) bool { return class == waits.Lock || class == waits.KernelLock }

// holdForWaker notes that the thread that ended a wait for a lock had it meanwhile.
func (c *collector) holdForWaker(s *timeline.Span) {
	of := c.spans.Timeline().Thread(s.Off.Waker)
	if s.Off.Woken == 0 || s.Off.WokenIRQ || of == nil || !waits.HadFromStart(c.r.Wait(s.Wait), of.Def) {
		return
	}
	if waker, known := of.Own.(*thread); known && waker.sleeps != nil {
		waker.sleeps.Hold(s.From, s.To)
	}
}

// openLock is a wait for a lock that had not ended when the window closed.
type openLock struct {
	pid, owner int32 // as the lock says
	from, to   int64
}

// maxOpenLocks bounds these.
const maxOpenLocks = 1 << 14

// closeLocks notes that threads had the locks that name them to the end of the window.
func (c *collector) closeLocks() {
	for i := range c.openLocks {
		one := &c.openLocks[i]
		for _, t := range c.threads {
			if t.sleeps != nil && t.PID == one.pid && t.of.Def.GetTid() == one.owner {
				t.sleeps.Hold(one.from, one.to)
			}
		}
	}
	c.openLocks = c.openLocks[:0]
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
		c.firstOf = append(c.firstOf, id)
	}
	c.same[id] = number
	return number
}

// isInner reports whether a cut stack has the innermost functions of another one. Both are numbers of sameFunctions.
func (c *collector) isInner(place, of uint32) bool {
	a, b := NodeID(place), NodeID(of)
	if len(c.firstOf) > 0 {
		a, b = c.firstOf[place], c.firstOf[of]
	}
	leaf := a
	for a != 0 && b != 0 && c.functionAt(a) == c.functionAt(b) {
		a, b = c.p.Nodes[a].Parent, c.p.Nodes[b].Parent
	}
	return a != leaf && b != 0 && c.isCut(a) && !c.isCut(b)
}

func (c *collector) functionAt(id NodeID) string {
	return c.p.Frames[c.p.Nodes[id].Frame].Functions[0].Name
}

// isCut reports whether a node stands for the callers that a stack lacks.
func (c *collector) isCut(id NodeID) bool { return id == 0 || c.p.Frames[c.p.Nodes[id].Frame].Note }

// functionsOf returns the functions of a stack in one text, without what is inlined.
func (p *Profile) functionsOf(id NodeID) string {
	var path strings.Builder
	for ; id != 0; id = p.Nodes[id].Parent {
		path.WriteString(p.Frames[p.Nodes[id].Frame].Functions[0].Name)
		path.WriteByte(';')
	}
	return path.String()
}

// idlePlace is where a thread waits for work.
type idlePlace struct {
	stack NodeID
	wait  waits.Result
}

// idleTrail is a trail in which the pieces in idle places have ClassIdle.
type idleTrail struct {
	Trail
	idle []idlePlace
}

func (t idleTrail) Each(visit func(*Piece) error) error {
	return t.Trail.Each(func(p *Piece) error {
		if p.Class != ClassBlocked || !slices.Contains(t.idle, idlePlace{p.Stack, p.Wait}) {
			return visit(p)
		}
		idle := *p
		idle.Class = ClassIdle
		return visit(&idle)
	})
}

// ShareIdleWaits gives stacks that are waits for work in one of two profiles that class in both: a stack that is the usual
// place of a thread in one, and not quite in the other, must not look like a difference.
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

// eachWait visits the cells of a class that may be waits for work, each with its thread's name and its
// functions in one text.
func (p *Profile) eachWait(class Class, visit func(c *Cell, key string)) {
	for _, t := range p.Threads {
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Class == class && c.Wait.Idle != waits.Never {
				visit(c, p.Labels[c.Label].Comm+"\x00"+p.functionsOf(c.Stack))
			}
		}
	}
}
