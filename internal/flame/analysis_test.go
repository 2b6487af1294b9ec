package flame

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wprof/format"
)

// sample is a profile of two threads in a window of 10 s: main runs 2 s, sleeps 3 s, is delayed 1 s, waits for work 3 s, and
// 1 s of short blocks is left out; the second one lived for 4 s and waited for disks.
func analysed() *Profile {
	p := &Profile{
		About: About{
			Host: "vm", Kernel: "Linux 6.18", Start: time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC), Window: 10e9, MinBlock: 1e6,
			Sources: []Source{{Name: "timer", Period: 20408163}}, Samples: 98, ShortBlocks: 1e9, Recorder: Cost{CPU: 3e8, Memory: 50 << 20},
		},
		Frames: []Frame{{}, {Functions: []Function{{Name: "main"}}}, {Functions: []Function{{Name: "nap"}, {Name: "inlined"}}},
			{Functions: []Function{{Name: "do_nanosleep"}}, Kernel: true}, {Functions: []Function{{Name: "read_disk"}}}},
		Nodes:  []Node{{}, {Frame: 1}, {Parent: 1, Frame: 2}, {Parent: 2, Frame: 3}, {Parent: 1, Frame: 4}, {Parent: 1, Frame: 4}},
		Labels: []Label{{}, {PID: 10, TID: 10, Comm: "app", Process: "app"}, {PID: 10, TID: 11, Comm: "kworker/0:1 <x>", Process: "app"}},
	}
	cell := func(class Class, state format.State, stack NodeID, ns int64, count uint64) Cell {
		return Cell{CellKey: CellKey{Class: class, State: state, CPU: NoCPU, Stack: stack}, Ns: ns, Count: count}
	}
	p.Threads = []*Thread{
		{TID: 10, PID: 10, Label: 1, Lifetime: 10e9, Cells: []Cell{
			cell(ClassOnCPU, 0, 1, 2e9, 98), cell(ClassBlocked, format.StateInterruptible, 3, 3e9, 300),
			cell(ClassRunnable, format.StateInterruptible, 3, 6e8, 6), cell(ClassPreempted, 0, 1, 4e8, 4),
			cell(ClassIdle, format.StateInterruptible, 2, 3e9, 3),
		}},
		{TID: 11, PID: 10, Label: 2, Start: 6e9, Lifetime: 4e9, Cells: []Cell{
			cell(ClassBlocked, format.StateUninterruptible, 4, 15e8, 3), cell(ClassBlocked, format.StateUninterruptible, 5, 25e8, 5),
		}},
	}
	return p
}

func analysisOf(t *testing.T, p *Profile, v View) string {
	t.Helper()
	var out bytes.Buffer
	if err := p.WriteAnalysis(&out, v); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 81 || strings.TrimRight(line, " \n")+"\n" != line {
			t.Errorf("%q is wider than 80 columns or ends in blanks", line)
		}
	}
	return out.String()
}

// says checks lines of a text, in which blanks are one each.
func says(t *testing.T, text string, want ...string) {
	t.Helper()
	flat := regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	for _, w := range want {
		if !strings.Contains(flat, w+"\n") {
			t.Errorf("there is no line %q in:\n%s", w, text)
		}
	}
}

func onlyThread(tid int32) View {
	return View{Only: func(t *Thread) bool { return t.TID == tid }}
}

func TestAnalysisSharesAddUpToTheLifetime(t *testing.T) {
	text := analysisOf(t, analysed(), onlyThread(10))
	says(t, text, "of: process app (pid 10)", "threads: 1", "window: 10.000000 s",
		"on-CPU: 2.000000 s 20.0% 20.0% 98 samples", "off-CPU: 3.000000 s 30.0% 30.0% 300 times", " sleep: 3.000000 s 30.0% 30.0% 300 times",
		"scheduling delay: 1.000000 s 10.0% 10.0% 10 times", "waits for work: 3.000000 s 30.0% 30.0% 3 times",
		"off for less than 1ms: 1.000000 s 10.0% 10.0%", "total: 10.000000 s 100.0% 100.0%", "coverage: 60.0% of the window",
		"reading: normal: most of the window is told", "recorder CPU: 0.300000 s, 3.0% of one CPU for as long as the window")
}

func TestAnalysisOfAnotherThreadTellsItsLifetime(t *testing.T) {
	text := analysisOf(t, analysed(), onlyThread(11))
	says(t, text, "of: thread kworker/0:1 <x> (tid 11) of process app (pid 10)", " disk wait: 4.000000 s 100.0% 40.0% 8 times",
		"total: 4.000000 s 100.0% 40.0%", "coverage: 40.0% of the window")
	if !strings.Contains(text, "short-lived") {
		t.Errorf("a thread that lived for less than half of the window is not said to:\n%s", text)
	}
}

func TestAnalysisReadsItsCoverage(t *testing.T) {
	p := analysed()
	says(t, analysisOf(t, p, View{}), "threads: 2", "coverage: 100.0% of the window",
		"reading: normal: most of the window is told, 70% of it blocked", " (mostly disk wait)")
	p.Threads[1].Cells[0].Ns += 3e9
	p.Threads[1].Lifetime += 3e9
	if text := analysisOf(t, p, View{}); !strings.Contains(text, "several threads: their time on the CPU") {
		t.Errorf("coverage of 130%% is not read as several threads:\n%s", text)
	}
	p.Threads[0].Cells[1].Class = ClassIdle
	if text := analysisOf(t, p, onlyThread(10)); !strings.Contains(text, "mostly idle") || !strings.Contains(text, "coverage:              30.0%") {
		t.Errorf("six of ten seconds of waiting for work are not read as idle:\n%s", text)
	}
	p.Threads[0].Cells = p.Threads[0].Cells[:1]
	if text := analysisOf(t, p, onlyThread(10)); !strings.Contains(text, "mostly left out") {
		t.Errorf("eight of ten seconds of short blocks are not read as left out:\n%s", text)
	}
	says(t, analysisOf(t, p, onlyThread(12)), "of: nothing: no thread of the capture was chosen", "threads: 0")
}

// reads checks the reading of a profile, whose lines are joined.
func reads(t *testing.T, p *Profile, want string) {
	t.Helper()
	text := analysisOf(t, p, View{})
	_, got, _ := strings.Cut(text, "reading:")
	got, _, _ = strings.Cut(got, "\n\n")
	if got = strings.Join(strings.Fields(got), " "); got != want {
		t.Errorf("it reads %q, want %q:\n%s", got, want, text)
	}
}

func TestReadingSaysWhatWasMostOfTheTime(t *testing.T) {
	b := newBuilder()
	in := b.calls("main", "read", "k_read")
	b.thread(10, 10, "app", cell(ClassBlocked, format.StateInterruptible, in, 1e9, 1))
	reads(t, b.Profile, "normal: most of the window is told, 100% of it blocked (sleep)")
	b.thread(10, 11, "hand", cell(ClassOnCPU, 0, in, 6e6, 1))
	reads(t, b.Profile, "several threads: their time on the CPU, blocked and waiting for a CPU adds up to 1.006 times the window, "+
		"99% of it off the CPU (sleep); look at each by itself")
	for tid := int32(12); tid < 22; tid++ {
		b.thread(10, tid, "hand", cell(ClassBlocked, format.StateInterruptible, in, 96e7, 1), cell(ClassOnCPU, 0, in, 3e7, 1),
			cell(ClassBlocked, format.StateUninterruptible, in, 1e7, 1))
	}
	reads(t, b.Profile, "several threads: their time on the CPU, blocked and waiting for a CPU adds up to 11.0 times the window, "+
		"97% of it off the CPU (mostly sleep); look at each by itself")
	b = newBuilder()
	in = b.calls("main")
	b.thread(10, 10, "app", cell(ClassOnCPU, 0, in, 9e8, 30), cell(ClassPreempted, 0, in, 1e8, 1))
	reads(t, b.Profile, "normal: most of the window is told, 90% of it on the CPU")
	b.Threads[0].Cells[0].Ns, b.Threads[0].Cells[1].Ns = 2e8, 8e8
	reads(t, b.Profile, "normal: most of the window is told, 80% of it waiting for a CPU")
}

func TestReadingOfTheUnknownKnowsWhetherEventsWereLost(t *testing.T) {
	b := newBuilder()
	b.thread(10, 10, "app", cell(ClassUnknown, 0, 0, 1e9, 1))
	reads(t, b.Profile, "mostly unknown: what these threads did is not told by the capture, although no events were lost; they are filtered "+
		"out, or the kernel did not tell them")
	b.About.IsLossy = true
	reads(t, b.Profile, "mostly unknown: events were lost or filtered out; record again with larger rings or fewer filters")
}

func TestAnalysisTellsWhatHasNoSample(t *testing.T) {
	text := analysisOf(t, box().Profile, View{}) // 1 ms of 351
	says(t, text, " not sampled: 0.001000 s 0.1% 0.1%", "0.3% of the time on the CPU has no sample, so nothing tells where in the code it",
		" disk wait: 0.100000 s 5.0% 10.0% 3 times", "unknown: 0.100000 s 5.0% 10.0%")
	p := analysed()
	p.Threads[0].Cells[0].Count, p.Threads[0].Cells[1].Count = 1, 1
	text = analysisOf(t, p, onlyThread(10))
	says(t, text, "on-CPU: 2.000000 s 20.0% 20.0% 1 sample", " sleep: 3.000000 s 30.0% 30.0% once")
	if strings.Contains(text, "not sampled") || strings.Contains(text, "no sample") {
		t.Errorf("time with samples is told as without:\n%s", text)
	}
}

func TestLockWaitedForAllTheTimeIsNamed(t *testing.T) {
	const idle = "mostly idle: for over half of the window the threads waited for work; record while there is load, record for longer, or look " +
		"at who should have sent the work"
	for _, c := range []struct{ inner, call, lock string }{
		{"pop", "epoll_wait", ""}, {"pop", "futex", "most of these waits are for a futex, and"},
		{"__pthread_mutex_lock@GLIBC_2.2.5", "futex", "but 100% of these waits are in __pthread_mutex_lock@GLIBC_2.2.5:"},
		{"pthread_rwlock_rdlock", "futex_waitv", "but 100% of these waits are in pthread_rwlock_rdlock:"},
		{"__new_sem_wait", "futex", "but 100% of these waits are in __new_sem_wait:"},
		{"___lll_lock_wait", "futex", "but 100% of these waits are in ___lll_lock_wait:"},
		{"my_sem_waiter", "futex", "most of these waits are for a futex, and"},
	} {
		b := newBuilder()
		stack := b.calls("main", "work", c.inner, "__lll_lock_wait", "k_futex")
		if !isLock(c.inner) {
			stack = b.calls("main", "work", c.inner, "k_futex")
		}
		b.Waits = map[NodeID]string{stack: c.call}
		b.thread(10, 10, "app", cell(ClassIdle, format.StateInterruptible, stack, 1e9, 1))
		above := "\n\nA lock that a thread waits for nearly all the time counts as a wait for work,"
		text := analysisOf(t, b.Profile, View{})
		if strings.Contains(text, above) != (c.lock != "") || isLock(c.inner) != strings.Contains(strings.Join(strings.Fields(text), " "), "in which there is "+c.inner+". 1.") {
			t.Errorf("above the stack of %s in %s stands:\n%s", c.inner, c.call, text)
		}
		if c.lock == "" {
			reads(t, b.Profile, idle)
		} else {
			reads(t, b.Profile, idle+"; "+c.lock+" a lock waited for nearly all the time counts as a wait for work too, so look at the stack")
		}
	}
}

func TestVeryShortWindowHasNoShareOfTheRecorder(t *testing.T) {
	p := analysed()
	p.About.Window = 3e6
	says(t, analysisOf(t, p, View{}), "recorder CPU: 0.300000 s")
}

func TestAnalysisRanksBlockingStacks(t *testing.T) {
	text := analysisOf(t, analysed(), View{})
	says(t, text, "Top 2 blocking stacks of 2, innermost function first",
		" 1. 4.000000 s, 57.1%: disk wait, 8 times, 0.500000 s each\n read_disk\n main", // two nodes that read alike
		" 2. 3.000000 s, 42.9%: sleep, 300 times, 0.010000 s each\n do_nanosleep_[k]\n inlined\n nap\n main",
		"Top 1 waits for work of 1, innermost function first")
}

func TestAnalysisOfSlotsTellsTheirTimeOnly(t *testing.T) {
	p := analysed()
	p.Slot, p.Slots = 1e9, 10
	p.Threads[0].Cells[0].Slots = []SlotTime{{Slot: 2, Ns: 5e8}, {Slot: 7, Ns: 15e8}}
	says(t, analysisOf(t, p, View{From: 2, To: 4}), "window: 2.000000 s", "on-CPU: 0.500000 s 100.0% 25.0% 25 samples", "total: 0.500000 s 100.0% 25.0%")
}

func TestThreadTableSumsUpItsRows(t *testing.T) {
	var out bytes.Buffer
	if err := analysed().WriteThreadAnalysis(&out, View{}); err != nil {
		t.Fatal(err)
	}
	says(t, out.String(), " tid role lifetime on-CPU blocked delay idle cover", " 10 main 10.000 2.000 3.000 1.000 3.000 60.0%",
		" 11 kworker/0:1 <x> 4.000 0.000 4.000 0.000 0.000 40.0%", " all 14.000 2.000 7.000 1.000 3.000 100.0%")
}

func TestTableOfSeveralProcessesNamesThem(t *testing.T) {
	p := analysed()
	p.Threads[1].TID, p.Threads[1].PID = 20, 20
	p.Labels[2].Process = "other"
	var out bytes.Buffer
	if err := p.WriteThreadAnalysis(&out, View{}); err != nil {
		t.Fatal(err)
	}
	says(t, out.String(), "of: 2 processes", " 10 app:main 10.000 2.000 3.000 1.000 3.000 60.0%", " 20 other:main 4.000 0.000 4.000 0.000 0.000 40.0%")
}

// shelf is a folder in memory.
type shelf struct {
	files   map[string]string
	failing string
}

type shelved struct {
	bytes.Buffer
	in   *shelf
	name string
}

func (s *shelf) Create(name string) (File, error) { return &shelved{in: s, name: name}, nil }

func (f *shelved) Commit() error {
	if f.name == f.in.failing {
		return errors.New("no space")
	}
	if _, taken := f.in.files[f.name]; taken {
		return fmt.Errorf("%s is there already", f.name)
	}
	f.in.files[f.name] = f.String()
	return nil
}

func (f *shelved) Abort() {}

func TestEachThreadHasItsOwnFiles(t *testing.T) {
	p := analysed()
	again := *p.Threads[1] // the same thread id, used again
	p.Threads = append(p.Threads, &again)
	in := &shelf{files: make(map[string]string)}
	if err := p.WriteThreads(in, ThreadTable("a/multithread_b.c/"), View{}, AnalysisFile()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"thread_10_main_analysis.txt": "threads: 1", "thread_11_kworker_0_1__x__analysis.txt": "total: 4.000000 s 100.0% 40.0%",
		"thread_11_kworker_0_1__x__2_analysis.txt": "threads: 1", "b.c_thread_analysis.txt": "threads: 3",
	} {
		says(t, in.files[name], want)
	}
	if len(in.files) != 4 {
		t.Errorf("%d files, want 4", len(in.files))
	}
	in = &shelf{files: make(map[string]string), failing: "thread_10_main_analysis.txt"}
	if err := p.WriteThreads(in, "x", View{}, AnalysisFile()); err == nil || err.Error() != "no space" {
		t.Errorf("a full disk is told as %v", err)
	}
}

func TestRolesFitIntoFileNames(t *testing.T) {
	p := analysed()
	for comm, want := range map[string]string{
		"日本語": "___", "../../etc": ".._.._etc", "": "thread", "a b\n": "a_b_", "größe": "gr__e", "nginx-1.2_x+": "nginx-1.2_x+", "main": "main",
		strings.Repeat("é", 40): strings.Repeat("_", 32),
	} {
		p.Labels[2].Comm = comm
		if got := p.Role(p.Threads[1]); got != want {
			t.Errorf("the role of %q is %q, want %q", comm, got, want)
		}
	}
}
