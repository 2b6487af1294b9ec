package waits

import "slices"

// Semaphore finds out whether threads wait for a semaphore because others of them have it, as for the connections of a pool or a lock of
// Python, or because there is no work, as for the items of a queue. The calls are the same. In the first case, the thread that ends a wait is
// one that got the semaphore before, and it had it meanwhile.
type Semaphore struct {
	got    map[int32]int64 // when each thread last got it after a wait
	passed int64           // when it was last passed on
	waited int64           // ns in which threads waited, without those that waited at the same time
	had    int64           // ns of these in which the thread that ended the wait had the semaphore
	passes uint64
}

const (
	// maxGot bounds the threads of which it is known when they got a semaphore.
	maxGot = 1 << 10
	// leastPasses is how often a semaphore is passed on at least before it counts as a lock.
	leastPasses = 3
)

// Add adds a wait of a thread that another one ended; both are thread ids.
func (s *Semaphore) Add(waiter, by int32, from, to int64) {
	from = max(from, s.passed)
	s.passed = max(s.passed, to)
	if got, known := s.got[by]; known && by != waiter {
		s.had += max(0, to-max(from, got))
		s.passes++
		delete(s.got, by)
	}
	s.waited += max(0, to-from)
	if s.got == nil {
		s.got = make(map[int32]int64)
	}
	if len(s.got) < maxGot {
		s.got[waiter] = to
	}
}

// IsLock reports whether threads waited for others of them that had the semaphore.
func (s *Semaphore) IsLock() bool {
	return s.passes >= leastPasses && 2*s.had > s.waited
}

// SemaphoreKey identifies a semaphore: by its address in a process.
type SemaphoreKey struct {
	PID   int32
	Futex uint64
}

// isSemaphore reports whether a thread waits for a semaphore of the C library.
func isSemaphore(user []string) bool {
	functions := semaphoreFunctions()
	return slices.ContainsFunc(user, func(name string) bool {
		_, found := find(functions, name)
		return found
	})
}
