package waits

import (
	"wprof/format"
)

// Sleeps are the latest sleeps of a thread, and for how long others waited meanwhile for a lock that it had: such sleeps are not for work;
// and the semaphores for which it waited.
type Sleeps[P comparable] struct {
	latest   [4]sleep[P]
	next     int
	lastLock int64 // when it last got a lock that it waited for
	held     []placeHeld[P]
	// semaphores are those for which the thread waited.
	semaphores []semaphoreTime
}

type semaphoreTime struct {
	of *Semaphore
	ns int64
}

type sleep[P comparable] struct {
	place    P
	from, to int64
}

type placeHeld[P comparable] struct {
	place P
	ns    int64
}

// HadFromStart reports whether a thread that ended a wait for a lock had it when the wait began, as far as the lock says that: another one may
// have had it first, and this one slept then.
func HadFromStart(w *format.Wait, waker *format.Task) bool {
	owner := w.GetOwner()
	return owner == 0 || owner == waker.GetTid()
}

// Add adds a wait of the thread, if it is a sleep or one for a lock.
func (s *Sleeps[P]) Add(place P, class Class, from, to int64) {
	switch class {
	case Timer:
		s.latest[s.next%len(s.latest)] = sleep[P]{place, from, to}
		s.next++
	case Lock, KernelLock:
		s.lastLock = to
	}
}

// AddSemaphore adds a wait for a semaphore.
func (s *Sleeps[P]) AddSemaphore(of *Semaphore, ns int64) {
	least := 0
	for i := range s.semaphores {
		one := &s.semaphores[i]
		if one.of == of {
			one.ns += ns
			return
		}
		if one.ns < s.semaphores[least].ns {
			least = i
		}
	}
	if len(s.semaphores) < maxSemaphores {
		s.semaphores = append(s.semaphores, semaphoreTime{of, ns})
		return
	}
	s.semaphores[least] = semaphoreTime{of, ns}
}

// areForLocks reports whether most of the time in which the thread waited for semaphores was for those that are locks.
func (s *Sleeps[P]) areForLocks() bool {
	if s == nil {
		return false
	}
	locks, all := int64(0), int64(0)
	for _, one := range s.semaphores {
		all += one.ns
		if one.of.IsLock() {
			locks += one.ns
		}
	}
	return 2*locks > all
}

// Hold adds a wait of another thread for a lock that this one had at its end: since the wait began, or since this thread got the lock.
func (s *Sleeps[P]) Hold(from, to int64) {
	if s.lastLock <= to {
		from = max(from, s.lastLock)
	}
	for i := range s.latest[:min(s.next, len(s.latest))] {
		one := &s.latest[i]
		if ns := min(to, one.to) - max(from, one.from); ns > 0 {
			s.hold(one.place, ns)
		}
	}
}

func (s *Sleeps[P]) hold(place P, ns int64) {
	for i := range s.held {
		if s.held[i].place == place {
			s.held[i].ns += ns
			return
		}
	}
	if len(s.held) < maxHeld {
		s.held = append(s.held, placeHeld[P]{place, ns})
	}
}

const (
	// maxHeld bounds the places in which a thread slept with a lock.
	maxHeld = 16
	// maxSemaphores bounds the semaphores of a thread that are kept: those with the most time so far.
	maxSemaphores = 16
	// heldPart is the part of the time of sleeps in a place, 1/heldPart, from which on they are not for work.
	heldPart = 10
)

// has reports whether the thread had a lock for much of its sleeps in a place.
func (s *Sleeps[P]) has(place P, asleep int64) bool {
	if s == nil {
		return false
	}
	for i := range s.held {
		if s.held[i].place == place {
			return s.held[i].ns > asleep/heldPart
		}
	}
	return false
}

// Map replaces places, where these get other numbers.
func (s *Sleeps[P]) Map(to func(P) P) {
	if s == nil {
		return
	}
	for i := range s.latest {
		s.latest[i].place = to(s.latest[i].place)
	}
	for i := range s.held {
		s.held[i].place = to(s.held[i].place)
	}
}
