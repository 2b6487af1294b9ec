package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/filter"
	"wprof/internal/timeline"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
)

// reportOf makes the report of a stream that is written as text.
func reportOf(t *testing.T, text string) *Report {
	t.Helper()
	r, err := Make(fromtext.Reader(t, text), Options{Limit: 20, Source: "x.wprof"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The times of all classes add up to the lifetimes of the threads, to the nanosecond, whatever happens.
func TestTimesAddUp(t *testing.T) {
	for seed := range uint64(8) {
		stream := simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 12, Losses: seed%2 == 0, Epochs: seed%3 == 0, Races: true, Interrupts: seed > 3}, 1500)
		want := int64(0)
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		spans := &lifetimes{}
		spans.Spans = timeline.NewSpans(r, func(s *timeline.Span) {
			if !s.Thread.Idle() {
				want += s.To - s.From
			}
		})
		if err := timeline.Visit(r, spans); err != nil {
			t.Fatal(err)
		}
		if r, err = format.NewReader(bytes.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		made, err := Make(r, Options{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, row := range made.Time {
			got += row.Ns
		}
		if got != want || made.TotalNs != want || want == 0 {
			t.Errorf("seed %d: the classes have %d ns, the report %d, the threads %d", seed, got, made.TotalNs, want)
		}
	}
}

// lifetimes is a [timeline.Visitor] of spans only.
type lifetimes struct {
	*timeline.Spans
	now int64
}

func (l *lifetimes) NewSection(s *format.Session) error { l.Spans.NewSection(s); return nil }
func (l *lifetimes) Open(_ *format.Session, at, _ int64, _ bool) error {
	l.now = at
	l.Spans.Open(at)
	return nil
}
func (l *lifetimes) Event(e *format.Event) error { l.now = max(l.now, e.Time); l.Apply(e); return nil }
func (l *lifetimes) Close(at int64) error        { l.Spans.Close(max(at, l.now)); return nil }

// locked is a capture in which each thread waits to the end for a lock that another one has: owners are indices of threads, -1 for none.
func locked(owners ...int) string {
	var text strings.Builder
	fmt.Fprint(&text, "section host=box boot_id=b open=1000000 close=+1s\ncpu 0\ntask 1 tid=0 pid=0 comm=swapper flags=idle\n")
	fmt.Fprint(&text, "frame 1\n  line function=\"pthread_mutex_lock\"\nframe 2\n  line function=\"transfer\"\nstack 1 frames=2,1\n")
	for i, owner := range owners {
		fmt.Fprintf(&text, "task %d tid=%d pid=100 comm=worker%d process_comm=bank start=5\n", i+2, 100+i, i)
		if owner >= 0 {
			fmt.Fprintf(&text, "wait %d pid=100 number=202 call=futex is_futex futex=%#x futex_op=128 futex_value=2 owner=%d\n", i+1, 0x1000*(i+1), 100+owner)
		}
	}
	fmt.Fprint(&text, "+0 cpu0 state_cpu 1 prio=120\n")
	for i, owner := range owners {
		wait := ""
		if owner >= 0 {
			wait = fmt.Sprintf(" wait=%d", i+1)
		}
		fmt.Fprintf(&text, "+1s cpu0 state_thread %d state=S prio=120 since=-%d stack=1%s open\n", i+2, 1000+i, wait)
	}
	return text.String() + "end close=+1s\n"
}

// A ring of owners is a deadlock, with each thread and lock named; a chain that ends is none.
func TestDeadlocks(t *testing.T) {
	for name, c := range map[string]struct {
		owners []int
		ring   string // threads in the ring
	}{
		"two threads":                    {[]int{1, 0}, "100 101"},
		"three threads":                  {[]int{1, 2, 0}, "100 101 102"},
		"itself":                         {[]int{0}, "100"},
		"two, and one that waits for it": {[]int{1, 2, 1}, "101 102"},
		"a chain":                        {[]int{1, 2, -1}, ""},
	} {
		r := reportOf(t, locked(c.owners...))
		var found []Finding
		for _, f := range r.Findings {
			if f.Kind == deadlock {
				found = append(found, f)
			}
		}
		if c.ring == "" {
			if len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		if len(found) != 1 || r.Findings[0].Kind != deadlock {
			t.Errorf("%s: %+v", name, r.Findings)
			continue
		}
		for _, tid := range strings.Fields(c.ring) {
			for _, part := range []string{fmt.Sprintf("(%s) waits in transfer for lock %#x,", tid, 0x1000*(int(tid[2]-'0')+1))} {
				if !strings.Contains(found[0].Summary, part) {
					t.Errorf("%s: %q lacks %q", name, found[0].Summary, part)
				}
			}
		}
		if n := strings.Count(found[0].Summary, " waits in "); n != len(strings.Fields(c.ring)) {
			t.Errorf("%s: %d threads in %q", name, n, found[0].Summary)
		}
	}
}

// A word that looks like a mutex may be anything: only a mutex shows that a thread waits for itself.
func TestParkedThreadsAreNoDeadlock(t *testing.T) {
	for _, text := range []string{strings.Replace(locked(0), "pthread_mutex_lock", "park", 1), strings.Replace(locked(0), " stack=1", "", 1)} {
		r := reportOf(t, text)
		if len(r.Locks) != 1 || len(r.Locks[0].Owners) > 0 || len(r.Findings) != 1 || r.Findings[0].Kind != oneLock {
			t.Errorf("%+v %+v", r.Locks, r.Findings)
		}
	}
}

// Locks name their owners by the host's tids also where these have others in a PID namespace.
func TestDeadlockInNamespace(t *testing.T) {
	r := reportOf(t, strings.NewReplacer("tid=100", "tid=100 ns_tid=7 ns_pid=7", "tid=101", "tid=101 ns_tid=8 ns_pid=7").Replace(locked(1, 0)))
	if len(r.Findings) == 0 || r.Findings[0].Kind != deadlock || r.Locks[0].Owners[0].Name != "worker1 (101)" && r.Locks[1].Owners[0].Name != "worker1 (101)" {
		t.Errorf("%+v %+v", r.Locks, r.Findings)
	}
}

// A lock of a file is that of its inode, not of the end of its path, and has the process that waits for it.
func TestLocksOfFiles(t *testing.T) {
	text := `
section host=box boot_id=b open=1000000 close=+1s
cpu 0
task 1 tid=0 pid=0 comm=swapper flags=idle
`
	for i, inode := range []int{7, 7, 8} {
		text += fmt.Sprintf("task %d tid=%d pid=%d comm=p start=5\n", 10+i, 100+i, 100+i)
		text += fmt.Sprintf("wait %d pid=%d number=73 call=flock has_fd fd=3 file=file path=\"x/y/LOCK\" device=1 inode=%d\n", 1+i, 100+i, inode)
	}
	text += "+0 cpu0 state_cpu 1 prio=120\n"
	for i := range 3 {
		text += fmt.Sprintf("+1s cpu0 state_thread %d state=S prio=120 since=-5 wait=%d open\n", 10+i, 1+i)
	}
	r := reportOf(t, text+"end close=+1s\n")
	if len(r.Locks) != 2 || r.Locks[0].Object != "x/y/LOCK" || r.Locks[0].Ns != 2e9 || r.Locks[0].PID != 0 || r.Locks[1].Ns != 1e9 || r.Locks[1].PID != 102 {
		t.Fatalf("%+v", r.Locks)
	}
	for i, want := range []string{"several processes: 2.00 s", "p (pid 102): 1.00 s"} {
		if f := r.Findings[i]; !strings.HasPrefix(f.Summary, want) || f.PID != r.Locks[i].PID || strings.Contains(f.Command, "-p 102") != (i == 1) || (f.Process == "p") != (i == 1) {
			t.Errorf("%+v", f)
		}
	}
}

// Two futexes next to each other are one lock only in a lock of the C library that has two, and are so in each list.
func TestFutexesOfALock(t *testing.T) {
	text := strings.NewReplacer("futex=0x1000", "futex=0x1008", "futex=0x2000", "futex=0x100c", "futex_op=128", "futex_op=137").Replace(locked(2, 2, -1))
	for function, want := range map[string]string{
		"__GI___pthread_rwlock_wrlock":       "[0x1008]",
		"std::sys::sync::mutex::futex::lock": "[0x1008 0x100c]",
	} {
		r := reportOf(t, strings.Replace(text, "pthread_mutex_lock", function, 1))
		var locks, objects []string
		for _, l := range r.Locks {
			locks = append(locks, l.Object)
		}
		for _, w := range r.Waits {
			if w.Class == "lock" {
				objects = append(objects, w.Object)
			}
		}
		slices.Sort(locks)
		slices.Sort(objects)
		if fmt.Sprint(locks) != want || fmt.Sprint(objects) != want {
			t.Errorf("%s: locks %v and waits for %v, want %s", function, locks, objects, want)
		}
	}
}

// A thread that waits for a lock does not have it, whatever the lock said when another wait for it began.
func TestOneLockIsNoDeadlock(t *testing.T) {
	text := locked(1, 2, 0)
	for _, other := range []string{"0x2000", "0x3000"} {
		text = strings.ReplaceAll(text, "futex="+other, "futex=0x1000")
	}
	for _, f := range reportOf(t, text).Findings {
		if f.Kind == deadlock {
			t.Errorf("%+v", f)
		}
	}
}

// The chain of a wait that waits for a wait names the locks in turn.
func TestChainOfLocks(t *testing.T) {
	r := reportOf(t, locked(1, 2, -1))
	if len(r.Locks) != 2 {
		t.Fatalf("%+v", r.Locks)
	}
	for _, l := range r.Locks {
		if l.Object == "0x1000" && (!strings.HasPrefix(l.Chain, "0x1000 <- 0x2000") || l.Owners[0].Name != "worker1 (101)" || l.Ns != 1e9) {
			t.Errorf("%+v", l)
		}
	}
}

// lockWaits are two threads of which one waits twice, 300 ms each, for a lock that the other has while it reads a file.
const lockWaits = `
section host=box boot_id=b open=1000000 close=+1s
cpu 0
cpu 1
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=10 pid=10 comm=holder process_comm=shop start=5
task 3 tid=11 pid=10 comm=victim process_comm=shop start=6
frame 1
  line function="pthread_mutex_lock"
frame 2
  line function="pay"
frame 3
  line function="load"
frame 4
  line function="io_schedule"
stack 1 frames=2,1
stack 2 frames=3,4 kernel_frames=1
wait 1 pid=10 number=202 call=futex is_futex futex=0xabc0 futex_op=128 futex_value=2 owner=10
wait 2 pid=10 number=17 call=pread64 has_fd fd=3 file=file path="data/stock.db"
+0ms   cpu0 state_cpu 2 prio=120
+0ms   cpu1 state_cpu 3 prio=120
+10ms  cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
+10ms  cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
+300ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+10ms next_state=D stack=2 wait=2
+310ms cpu0 waking 2 wakee=3 prio=120 target_cpu=1
+310ms cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+10ms next_state=S stack=1 wait=1
+320ms cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
+620ms cpu0 waking 2 wakee=3 prio=120 target_cpu=1
+620ms cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+320ms next_state=S stack=1 wait=1
end close=+1s
`

// A thread that sleeps with a lock for which another one waits is not idle, whether or not that wait ends.
func TestSleepsWithALockAreNotIdle(t *testing.T) {
	idle := func(text string) int64 { return reportOf(t, text).Sum(Idle).Ns }
	text := strings.NewReplacer("io_schedule", "hrtimer_nanosleep", "number=17 call=pread64 has_fd fd=3 file=file path=\"data/stock.db\"", "number=230 call=clock_nanosleep", "next_state=D", "next_state=S", "prev_state=D", "prev_state=S").Replace(lockWaits)
	if got := idle(text); got != 0 {
		t.Errorf("%d ns of the owner's sleep are idle", got)
	}
	if got := idle(strings.ReplaceAll(text, "cpu0 waking 2 wakee=3", "cpu0 waking 1 wakee=3")); got != 290e6 {
		t.Errorf("%d ns of the sleep of a thread without a lock are idle, want 290 ms", got)
	}
}

// A wait for Python's global lock is behind the thread that the lock names, also if its time limit ends it and no thread wakes the waiter.
func TestGILIsBehindItsHolder(t *testing.T) {
	text := strings.NewReplacer("futex_value=2 owner=10", "is_gil owner=10", "cpu0 waking 2 wakee=3", "cpu0 waking 1 wakee=3").Replace(lockWaits)
	r := reportOf(t, text)
	if r.Sum("gil").Ns != 600e6 || len(r.Locks) != 1 {
		t.Fatalf("%+v", r)
	}
	if l := r.Locks[0]; l.Object != "GIL" || l.Owners[0] != (Part{"holder (10)", 600e6, 2}) || l.OwnerTime[1] != (Part{"disk read data/stock.db", 290e6, 1}) {
		t.Errorf("%+v", l)
	}
	if len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Summary, "waits for Python's global lock (GIL)") || !strings.Contains(r.Findings[0].Summary, "mostly behind holder (10)") {
		t.Errorf("%+v", r.Findings)
	}
	unknown := reportOf(t, strings.ReplaceAll(text, "is_gil owner=10", "is_gil"))
	if l := unknown.Locks[0]; l.Owners[0].Name != unknownOwners {
		t.Errorf("without a holder: %+v", l)
	}
}

// A stack that lacks its outer functions counts as the usual place that it is the inner part of, unless there are two such places.
func TestCutStackIsTheUsualPlace(t *testing.T) {
	const text = `
section host=box boot_id=b open=1000000 close=+1s
cpu 0
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=10 pid=10 comm=server process_comm=server start=5
frame 1
  line function="main"
frame 2
  line function="serve"
frame 3
  line function="query"
frame 4
  line function="recv"
stack 1 cut frames=4
stack 2 frames=1,2,4
stack 3 frames=%s
wait 1 pid=10 number=45 call=recvfrom has_fd fd=3 file=socket
+0ms   cpu0 state_thread 2 state=S prio=120 since=-5ms
+600ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=-5ms next_state=S stack=1 wait=1
+600ms cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+700ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+600ms next_state=S stack=2 wait=1
+700ms cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+710ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+700ms next_state=S stack=3 wait=1
end close=+1s
`
	for stack, want := range map[string]int64{"1,2,3": 700e6, "1,3,4": 600e6} {
		if got := reportOf(t, fmt.Sprintf(text, stack)).Sum(Idle).Ns; got != want {
			t.Errorf("with a third stack %s, %d ns are idle, want %d", stack, got, want)
		}
	}
}

func TestLockTable(t *testing.T) {
	r := reportOf(t, lockWaits)
	if len(r.Locks) != 1 {
		t.Fatalf("%+v", r.Locks)
	}
	l := r.Locks[0]
	if l.Object != "0xabc0" || l.PID != 10 || l.Waits != 2 || l.Ns != 600e6 || l.LongestNs != 300e6 || l.Owners[0] != (Part{"holder (10)", 600e6, 2}) ||
		l.Waiters[0] != (Part{"victim (11)", 600e6, 2}) || l.Functions[0].Name != "pay" {
		t.Errorf("%+v", l)
	}
	if l.OwnerTime[0] != (Part{"on-CPU", 310e6, 2}) || l.OwnerTime[1] != (Part{"disk read data/stock.db", 290e6, 1}) {
		t.Errorf("the owner's time is %+v", l.OwnerTime)
	}
	if len(r.Findings) == 0 || r.Findings[0].Kind != oneLock || !strings.Contains(r.Findings[0].Summary, "0xabc0") || !strings.Contains(r.Findings[0].Command, "-p 10 x.wprof") {
		t.Errorf("%+v", r.Findings)
	}
	if w := r.Longest[0]; w.StartNs != 10e6 || w.Ns != 300e6 || w.Waker != "holder (10)" || w.TID != 11 {
		t.Errorf("%+v", w)
	}
}

// The sleeps of a finding are those that are not idle, of which its weight is.
func TestSleepsOfAFindingAreNotIdle(t *testing.T) {
	text := `
section host=box boot_id=b open=1000000 close=+1s
cpu 0
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=10 pid=10 comm=job process_comm=app start=5
task 3 tid=11 pid=10 comm=ticker process_comm=app start=6
frame 1
  line function="retry"
frame 2
  line function="backOff"
frame 3
  line function="tick"
frame 4
  line function="connect"
stack 1 frames=1
stack 2 frames=2
stack 3 frames=3
stack 4 frames=4
wait 1 pid=10 number=230 call=clock_nanosleep
+0     cpu0 state_cpu 2 prio=120
+0     cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+300ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+0 next_state=S stack=1 wait=1
+300ms cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+500ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+300ms next_state=S stack=2 wait=1
+500ms cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+700ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+500ms next_state=S stack=4 wait=1
+1s    cpu0 state_thread 3 state=S prio=120 since=-5 stack=3 wait=1 open
end close=+1s
`
	r := reportOf(t, text)
	if len(r.Findings) == 0 || r.Findings[0].Kind != sleeping || !strings.Contains(r.Findings[0].Summary, "slept for 700.0 ms in all, 3 times, on average for 233.3 ms; mostly in retry") {
		t.Errorf("%+v", r.Findings)
	}
	if got := r.Sum(Idle).Ns; got != 1e9 {
		t.Errorf("%d ns are idle, want those of the ticker", got)
	}
}

// Processes beyond those that are kept apart count once each, however many threads they have.
func TestProcessesCountOnce(t *testing.T) {
	var text strings.Builder
	fmt.Fprint(&text, "section host=box boot_id=b open=1000000 close=+1s\ncpu 0\ntask 1 tid=0 pid=0 comm=swapper flags=idle\n+0 cpu0 state_cpu 1 prio=120\n")
	const more = 3 // of two threads each
	for i := range maxProcesses + 2*more {
		pid := i + 100
		if i > maxProcesses {
			pid -= (i - maxProcesses) % 2
		}
		fmt.Fprintf(&text, "task %d tid=%d pid=%d comm=p start=5\n+1s cpu0 state_thread %d state=S prio=120 since=-5\n", i+2, i+100, pid, i+2)
	}
	if r := reportOf(t, text.String()+"end close=+1s\n"); r.Processes != maxProcesses+more || r.Threads != maxProcesses+2*more {
		t.Errorf("%d processes, %d threads; want %d, %d", r.Processes, r.Threads, maxProcesses+more, maxProcesses+2*more)
	}
}

// What two functions call counts once in each, with the share of each caller.
func TestFunctions(t *testing.T) {
	text := `
section host=box boot_id=b open=1000000 close=+100ms
source 1 name=timer period=10000000
cpu 0
task 2 tid=10 pid=10 comm=p start=5
frame 1
  line function="main"
frame 2
  line function="hash"
frame 3
  line function="parse"
stack 1 frames=1,2
stack 2 frames=1,3,2
stack 3 frames=1,3
+0 cpu0 state_cpu 2 prio=120
`
	for i, stack := range []int{1, 2, 2, 2, 3} {
		text += fmt.Sprintf("+%dms cpu0 sample 2 stack=%d source=1\n", 10*i+5, stack)
	}
	r := reportOf(t, text+"end close=+100ms\n")
	if len(r.Functions) != 2 {
		t.Fatalf("%+v", r.Functions)
	}
	hash := r.Functions[0]
	if hash.Name != "hash" || hash.SelfNs != 80e6 || hash.TotalNs != 80e6 || fmt.Sprint(hash.Callers) != "[{parse 0.75} {main 0.25}]" {
		t.Errorf("%+v", hash)
	}
	if f := r.Functions[1]; f.Name != "parse" || f.Self != 0.2 || f.Total != 0.8 {
		t.Errorf("%+v", f)
	}
}

// Every list is bounded by the limit.
func TestLimit(t *testing.T) {
	r, err := Make(fromtext.Reader(t, locked(1, 2, 3, 4, 5, 0)), Options{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Waits) != 2 || len(r.Locks) != 2 || len(r.Longest) != 2 || len(r.Findings) > 2 {
		t.Errorf("%+v", r)
	}
	var text, json bytes.Buffer
	if err := r.Print(&text, "x"); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&json); err != nil || bytes.Contains(json.Bytes(), []byte("null")) {
		t.Errorf("%v %s", err, json.Bytes())
	}
}

// A process that is selected has names for what delayed it, though that is not selected.
func TestSelectedThreadsAreExplainedByOthers(t *testing.T) {
	r := fromtext.Reader(t, lockWaits)
	made, err := Make(r, Options{Limit: 10, Selector: filter.NewSelector(filter.Spec{TIDs: []int32{11}}, r)})
	if err != nil {
		t.Fatal(err)
	}
	if made.Threads != 1 || made.TotalNs != 1e9 || len(made.Locks) != 1 || made.Locks[0].Owners[0].Name != "holder (10)" || made.Locks[0].OwnerTime[1].Name != "disk read data/stock.db" {
		t.Errorf("%+v", made)
	}
}

// A delay is behind the thread that ran on the CPU before; behind an idle CPU there is none.
func TestDelaysBehindOtherThreads(t *testing.T) {
	const text = `
section host=box boot_id=b open=1000000 close=+1s
cpu 0
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=10 pid=10 comm=server process_comm=server start=5
task 3 tid=20 pid=20 comm=hog process_comm=hog start=6
+0ms   cpu0 state_cpu 3 prio=120
+0ms   cpu0 state_thread 2 state=S prio=120 since=-5ms
`
	const behindHog = `
+100ms cpu0 waking 3 wakee=2 prio=120 target_cpu=0
+400ms cpu0 switch 3 next=2 prev_state=R+ prev_prio=120 next_prio=120 since=-5ms next_state=S
end close=+1s
`
	r := reportOf(t, text+behindHog)
	if len(r.Delays) != 2 || r.Delays[1].By != "hog" || r.Delays[1].Process != "server" || r.Delays[1].Ns != 300e6 {
		t.Errorf("%+v", r.Delays)
	}
	if len(r.Findings) < 2 || !strings.Contains(r.Findings[0].Summary+r.Findings[1].Summary, "100% of it behind hog (pid 20)") {
		t.Errorf("%+v", r.Findings)
	}
	const behindIdleCPU = `
+90ms  cpu0 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
+100ms cpu0 waking 1 wakee=2 prio=120 target_cpu=0
+400ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=-5ms next_state=S
end close=+1s
`
	r = reportOf(t, text+behindIdleCPU)
	if len(r.Delays) != 0 || len(r.Findings) != 0 || r.Sum(Delayed).Ns != 300e6 {
		t.Errorf("%+v %+v %+v", r.Delays, r.Findings, r.Time)
	}
}

// A report without findings says where threads waited, and of no threads it says that.
func TestReportsWithoutFindings(t *testing.T) {
	text := strings.NewReplacer("number=202 call=futex is_futex futex=0xabc0 futex_op=128 futex_value=2 owner=10", "number=7 call=poll has_fd fd=3 file=socket").Replace(lockWaits[:strings.Index(lockWaits, "+0ms")])
	text += "+0ms cpu0 state_thread 3 state=S prio=120 since=-5ms\n+1s cpu0 state_thread 3 state=S prio=120 since=-5ms stack=1 wait=1 open\nend close=+1s\n"
	for text, want := range map[string]string{
		text: "Threads waited for 100% of their lifetimes as for work, most of all shop (pid 10) in pay",
		"section host=box boot_id=b open=1000000 close=+1s\nend close=+1s\n": "no thread is selected",
	} {
		var out bytes.Buffer
		if err := reportOf(t, text).Print(&out, "x"); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%v: %s; want %q", err, &out, want)
		}
	}
}

// A thread that waits while the lock passes from one to the next waits for each of them in turn.
func TestOwnersOfALockInTurn(t *testing.T) {
	i := strings.Index(lockWaits, "+0ms")
	text := strings.Replace(lockWaits[:i], "frame 1\n", "task 4 tid=12 pid=10 comm=last process_comm=shop start=7\nframe 1\n", 1) + `
+0ms   cpu0 state_cpu 2 prio=120
+0ms   cpu1 state_cpu 3 prio=120
+1ms   cpu1 switch 3 next=4 prev_state=S prev_prio=120 next_prio=120
+2ms   cpu1 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120
+12ms  cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
+92ms  cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+12ms next_state=D stack=2 wait=2
+102ms cpu0 waking 2 wakee=3 prio=120 target_cpu=1
+102ms cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+1ms next_state=S stack=1 wait=1
+102ms cpu1 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
+202ms cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+102ms next_state=D stack=2 wait=2
+202ms cpu1 waking 3 wakee=4 prio=120 target_cpu=1
+202ms cpu1 switch 3 next=4 prev_state=S prev_prio=120 next_prio=120 since=+2ms next_state=S stack=1 wait=1
end close=+1s
`
	l := reportOf(t, text).Locks[0]
	if len(l.Owners) != 2 || l.Owners[0] != (Part{"holder (10)", 201e6, 2}) || l.Owners[1] != (Part{"victim (11)", 100e6, 1}) {
		t.Errorf("the owners are %+v", l.Owners)
	}
	if l.OwnerTime[0] != (Part{"disk read data/stock.db", 260e6, 3}) || l.OwnerTime[1] != (Part{"on-CPU", 41e6, 2}) {
		t.Errorf("meanwhile they were in %+v", l.OwnerTime)
	}
}
