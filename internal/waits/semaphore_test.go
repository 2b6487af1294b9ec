package waits

import "testing"

// A semaphore is a lock where the thread that ends a wait got it before and had it meanwhile.
func TestSemaphoreThatThreadsPassOnIsALock(t *testing.T) {
	const producer = 9
	for name, c := range map[string]struct {
		waits [][4]int64 // waiter, by, from, to
		want  bool
	}{
		"three threads in turn":     {[][4]int64{{1, 2, 0, 10}, {3, 1, 0, 20}, {2, 3, 10, 30}, {1, 2, 20, 40}}, true},
		"two at a time":             {[][4]int64{{1, 5, 0, 10}, {2, 6, 0, 12}, {3, 1, 0, 20}, {4, 2, 0, 22}, {1, 3, 20, 30}, {2, 4, 22, 32}}, true},
		"a queue":                   {[][4]int64{{1, producer, 0, 10}, {2, producer, 0, 20}, {1, producer, 11, 30}, {2, producer, 21, 40}}, false},
		"a queue of Python":         {[][4]int64{{1, producer, 0, 100}, {2, 1, 0, 101}, {1, producer, 102, 200}, {2, 1, 102, 201}, {1, producer, 202, 300}, {2, 1, 202, 301}}, false},
		"two waits are no evidence": {[][4]int64{{1, 2, 0, 10}, {3, 1, 0, 20}, {2, 3, 10, 30}}, false},
		"a thread wakes itself":     {[][4]int64{{1, 1, 0, 10}, {1, 1, 10, 20}, {1, 1, 20, 30}, {1, 1, 30, 40}, {1, 1, 40, 50}}, false},
	} {
		var s Semaphore
		for _, w := range c.waits {
			s.Add(int32(w[0]), int32(w[1]), w[2], w[3])
		}
		if got := s.IsLock(); got != c.want {
			t.Errorf("%s: a lock: %t, want %t: %+v", name, got, c.want, s)
		}
	}
}

// Waits for a semaphore are for work unless most of them are for one that is a lock.
func TestWaitsForASemaphoreThatIsALockAreNotForWork(t *testing.T) {
	var lock, queue Semaphore
	for i := range int64(10) {
		lock.Add(int32(1+i%2), int32(1+(i+1)%2), 10*i, 10*i+10)
	}
	wait := Result{Condition, IfNotHeld}
	for _, inLock := range []int64{9, 1} {
		var p Places[string]
		var s Sleeps[string]
		p.Add("get", wait, 10*ms)
		s.AddSemaphore(&lock, inLock*ms)
		s.AddSemaphore(&queue, (10-inLock)*ms)
		if work := p.ForWork(false, &s, nil); work.Has("get", wait) != (inLock == 1) {
			t.Errorf("%d of 10 ms are for a lock: waits for work: %t", inLock, work.Has("get", wait))
		}
	}
}
