package waits

import "slices"

// Places adds up the blocked time of one thread by place, so that in the end the waits for work can be distinguished from the others. A place
// identifies a stack. The zero value is empty.
//
// A wait whose [Result] has Idle Always is for work. One with IfUsual is for work in the thread's usual place: that with most such time. A
// timer is for work only in a thread that waits for work in no other way, and that has more than half of that time in one place. A wait with
// Idle Never, such as one for a lock, is for work nowhere; neither is a sleep with a lock for which others wait, nor a wait for
// a [Semaphore] that is a lock. Stacks lack their outer
// functions while a file's unwind table is not loaded: a place that is the inner part of one other place is taken for that one.
type Places[P comparable] struct {
	all     []placeTime[P]
	blocked int64 // ns in all
	work    int64 // ns of blocked that may be for work, without timers
}

type placeTime[P comparable] struct {
	place       P
	work, timer int64 // ns that may be for work, without timers and by timers
}

const (
	// maxPlaces bounds the places that are kept: those with the most time so far.
	maxPlaces = 64
	// otherWork is the part of the blocked time, 1/otherWork, from which on a thread waits for work in another way than by timers.
	otherWork = 100
)

// Add adds a wait of a thread.
func (p *Places[P]) Add(place P, r Result, ns int64) {
	p.blocked += ns
	isTimer := r.Class == Timer
	if r.Idle != Never && r.Idle != IfShown && !isTimer {
		p.work += ns
	}
	if r.Idle != IfUsual && r.Idle != IfNotHeld {
		return
	}
	at := p.at(place)
	if isTimer {
		at.timer += ns
	} else {
		at.work += ns
	}
}

// at returns the entry of a place. A new one takes that of the place with the least time when there are too many.
func (p *Places[P]) at(place P) *placeTime[P] {
	least := 0
	for i := range p.all {
		one := &p.all[i]
		if one.place == place {
			return one
		}
		if one.work+one.timer < p.all[least].work+p.all[least].timer {
			least = i
		}
	}
	if len(p.all) < maxPlaces {
		p.all = append(p.all, placeTime[P]{})
		least = len(p.all) - 1
	}
	p.all[least] = placeTime[P]{place: place}
	return &p.all[least]
}

// ForWork returns which waits are for work, by all that was added. children: some of the thread's child processes are shown too. sleeps are
// those of the thread; may be nil. isPart reports whether a place's functions are the innermost ones, and not all, of another place's; nil:
// none are.
func (p *Places[P]) ForWork(children bool, sleeps *Sleeps[P], isPart func(place, of P) bool) ForWork[P] {
	w := ForWork[P]{timers: p.work < p.blocked/otherWork || p.work == 0, children: children}
	w.whole, w.held = p.wholes(isPart), sleeps.areForLocks()
	times := make(map[P]int64, len(p.all))
	most, all := int64(0), int64(0)
	for _, one := range p.all {
		ns := one.work
		if w.timers && !sleeps.has(one.place, one.timer) {
			ns += one.timer
		}
		all += ns
		at := w.wholeOf(one.place)
		times[at] += ns
		if times[at] > most {
			most, w.usual, w.hasUsual = times[at], at, true
		}
	}
	if w.timers && 2*most <= all { // it sleeps here and there
		w.hasUsual = false
	}
	return w
}

// wholes returns the place that each part belongs to, where there is one only.
func (p *Places[P]) wholes(isPart func(place, of P) bool) map[P]P {
	if isPart == nil || len(p.all) < 2 {
		return nil
	}
	var parts, wholes []P
	for _, one := range p.all {
		if slices.ContainsFunc(p.all, func(of placeTime[P]) bool { return isPart(one.place, of.place) }) {
			parts = append(parts, one.place)
		} else {
			wholes = append(wholes, one.place)
		}
	}
	of := make(map[P]P)
	for _, part := range parts {
		isOf := func(whole P) bool { return isPart(part, whole) }
		at := slices.IndexFunc(wholes, isOf)
		if at >= 0 && !slices.ContainsFunc(wholes[at+1:], isOf) {
			of[part] = wholes[at]
		}
	}
	return of
}

// ForWork says which waits of a thread are for work.
type ForWork[P comparable] struct {
	usual    P
	hasUsual bool
	timers   bool // timers may be
	children bool // waits for child processes are
	held     bool // waits for semaphores are not
	whole    map[P]P
}

func (w *ForWork[P]) wholeOf(place P) P {
	if whole, found := w.whole[place]; found {
		return whole
	}
	return place
}

// Has reports whether a wait in a place is for work.
func (w *ForWork[P]) Has(place P, r Result) bool {
	switch {
	case r.Idle == Always, r.Idle == IfShown && w.children:
		return true
	case r.Idle == IfShown:
		return false
	case r.Idle == Never || r.Idle == IfNotHeld && w.held || r.Class == Timer && !w.timers:
		return false
	}
	return w.hasUsual && w.usual == w.wholeOf(place)
}
