package waits

import (
	"strings"
	"testing"
)

const ms = 1e6

// added is a wait in a place.
type added struct {
	place string
	Result
	ns int64
}

// isInner takes the functions of places as lists, the innermost one first.
func isInner(place, of string) bool {
	place, of = strings.TrimSuffix(place, "*"), strings.TrimSuffix(of, "*")
	return strings.HasSuffix(place, ";") && len(place) < len(of) && strings.HasPrefix(of, place)
}

// TestWaitsForWork describes threads by their waits. A * after a place marks the waits that are for work.
func TestWaitsForWork(t *testing.T) {
	poll, receive, timer, lock := Result{Poll, IfUsual}, Result{Receive, IfUsual}, Result{Timer, IfUsual}, Result{Lock, Never}
	accept, condition := Result{Accept, Always}, Result{Condition, IfUsual}
	for name, waits := range map[string][]added{
		"a thread of a pool":                    {{"get*", condition, 900 * ms}, {"lock", lock, 100 * ms}},
		"a victim of a lock":                    {{"lock", lock, 990 * ms}, {"get*", condition, 10 * ms}},
		"a lock and nothing else":               {{"lock", lock, 1000 * ms}},
		"a server that calls another one":       {{"loop*", poll, 600 * ms}, {"query", receive, 300 * ms}},
		"a new connection in an unusual place":  {{"loop*", poll, 900 * ms}, {"accept*", accept, ms}},
		"a ticker":                              {{"tick*", timer, 1000 * ms}},
		"a ticker with a lock":                  {{"tick*", timer, 500 * ms}, {"lock", lock, 500 * ms}},
		"a ticker that reads seldom":            {{"tick*", timer, 1000 * ms}, {"read", receive, 5 * ms}},
		"a server that sleeps in a request":     {{"loop*", poll, 100 * ms}, {"sleep", timer, 900 * ms}},
		"a server that polls and sleeps inside": {{"accept*", accept, 100 * ms}, {"sleep", timer, 900 * ms}},
		"a stack that was cut at first":         {{"recv;*", receive, 600 * ms}, {"recv;loop;*", receive, 200 * ms}, {"send;query;", receive, 300 * ms}},
		"a cut stack of two places":             {{"recv;", receive, 100 * ms}, {"recv;loop;*", receive, 600 * ms}, {"recv;query;", receive, 300 * ms}},
		"a stack that was cut twice":            {{"recv;*", receive, 400 * ms}, {"recv;loop;*", receive, 200 * ms}, {"recv;loop;main;*", receive, 1 * ms}, {"poll;", poll, 500 * ms}},
	} {
		var p Places[string]
		for _, one := range waits {
			p.Add(one.place, one.Result, one.ns/2)
			p.Add(one.place, one.Result, one.ns-one.ns/2)
		}
		work := p.ForWork(false, nil, isInner)
		for _, one := range waits {
			if got, want := work.Has(one.place, one.Result), one.place[len(one.place)-1] == '*'; got != want {
				t.Errorf("%s: %s in %s: for work: %v, want %v", name, one.Class, one.place, got, want)
			}
		}
	}
}

// The usual place is found among many, and memory is bounded.
func TestUsualPlaceAmongMany(t *testing.T) {
	var p Places[int]
	for i := range 10_000 {
		p.Add(i, Result{Poll, IfUsual}, 1)
		p.Add(-1, Result{Poll, IfUsual}, 1)
	}
	if work := p.ForWork(false, nil, nil); !work.Has(-1, Result{Poll, IfUsual}) || work.Has(9_999, Result{Poll, IfUsual}) {
		t.Errorf("the usual place is not found: %+v", work)
	}
	if len(p.all) > maxPlaces {
		t.Errorf("%d places are kept", len(p.all))
	}
}

// What runtimes build on condition variables is what it is for, not a condition.
func TestFutexOfRuntimes(t *testing.T) {
	r := newRules()
	for stack, want := range map[string]Class{
		"__futex_abstimed_wait_common pthread_cond_wait os::PlatformEvent::park ObjectMonitor::EnterI ObjectMonitor::enter": Lock,
		"__futex_abstimed_wait_common pthread_cond_timedwait os::PlatformEvent::park JavaThread::sleep JVM_Sleep":           Timer,
		"__futex_abstimed_wait_common pthread_cond_timedwait os::PlatformMonitor::wait Monitor::wait CompileQueue::get":     Condition,
		"__futex_abstimed_wait_common __pthread_cond_timedwait take_gil PyEval_RestoreThread":                               Lock,
		"__futex_abstimed_wait_common pthread_cond_wait std::condition_variable::wait work":                                 Condition,
		"__lll_lock_wait __pthread_mutex_cond_lock pthread_cond_wait std::condition_variable::wait":                         Lock,
		"__futex_abstimed_wait_common pthread_cond_wait pop next run main_loop start_thread more more more take_gil":        Condition,
	} {
		if got := r.byFutex(&Facts{User: strings.Fields(stack)}); got != want {
			t.Errorf("%s: %s, want %s", stack, got, want)
		}
	}
}

// A wait for a child process is idle only where the child is shown, and leaves a timer the only wait for work.
func TestWaitsForChildrenAreIdleWhereThoseAreShown(t *testing.T) {
	child, timer := Result{Child, IfShown}, Result{Timer, IfUsual}
	var p Places[string]
	p.Add("wait", child, 900*ms)
	p.Add("tick", timer, 100*ms)
	for _, shown := range []bool{false, true} {
		work := p.ForWork(shown, nil, nil)
		if work.Has("wait", child) != shown || !work.Has("tick", timer) {
			t.Errorf("children shown: %t: the wait for them is for work: %t, the timer: %t", shown, work.Has("wait", child), work.Has("tick", timer))
		}
	}
}

// A sleep is not for work where others wait for a lock that the sleeper has: since their wait began or since it got the lock.
func TestSleepsWithALockAreNotForWork(t *testing.T) {
	timer := Result{Timer, IfUsual}
	for name, c := range map[string]struct {
		waits [][2]int64 // of others, ms
		locks [][2]int64 // waits of the thread itself for the lock
		idle  bool
	}{
		"nobody waits":               {nil, nil, true},
		"another waits":              {[][2]int64{{20, 100}}, nil, false},
		"another waits a moment":     {[][2]int64{{95, 100}}, nil, true},
		"two wait":                   {[][2]int64{{94, 100}, {94, 100}}, nil, false},
		"it got the lock afterwards": {[][2]int64{{20, 120}}, [][2]int64{{100, 110}}, true},
	} {
		var p Places[string]
		var s Sleeps[string]
		p.Add("nap", timer, 100*ms)
		s.Add("nap", Timer, 0, 100*ms)
		for _, w := range c.locks {
			s.Add("lock", Lock, w[0]*ms, w[1]*ms)
		}
		for _, w := range c.waits {
			s.Hold(w[0]*ms, w[1]*ms)
		}
		if work := p.ForWork(false, &s, nil); work.Has("nap", timer) != c.idle {
			t.Errorf("%s: the sleep is for work: %t", name, !c.idle)
		}
	}
}
