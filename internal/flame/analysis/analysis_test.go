package analysis

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/waits"
)

// sample is a profile of two threads in a window of 10 s: main runs 2 s, sleeps 3 s, is delayed 1 s, waits for work 3 s, and
// 1 s of short blocks is left out; the second one lived for 4 s and waited for disks.
func analysisOf(t *testing.T, p *profile.Profile, v graph.View) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, p, v); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 81 || strings.TrimRight(line, " \n")+"\n" != line {
			t.Errorf("%q is wider than 80 columns or ends in blanks", line)
		}
	}
	return out.String()
}

func onlyThread(tid int32) graph.View {
	return graph.View{Only: func(t *profile.Thread) bool { return t.TID == tid }}
}

func TestAnalysisSharesAddUpToTheLifetime(t *testing.T) {
	text := analysisOf(t, flametest.Analysed(), onlyThread(10))
	flametest.CheckLines(t, text, "of: process app (pid 10)", "threads: 1", "recorded: 2026-11-21 20:30:00 UTC", "window: 10.000000 s",
		"on-CPU: 2.000000 s 20.0% 20.0% 98 samples", "blocked: 3.000000 s 30.0% 30.0% 300 times", " sleep: 3.000000 s 30.0% 30.0% 300 times",
		"scheduling delay: 1.000000 s 10.0% 10.0% 10 times", "waits for work: 3.000000 s 30.0% 30.0% 3 times",
		"off for less than 1ms: 1.000000 s 10.0% 10.0%", "total: 10.000000 s 100.0% 100.0%", "coverage: 60.0% of the window (100%: one thread always at work)",
		"reading: normal: most of the window is covered; of the time at", " work, 17% is scheduling delay", "recorder CPU: 0.300000 s, 3.0% of one CPU over the window", "recorder memory: 52.4 MB at its peak")
}

func TestAnalysisOfAnotherThreadHasItsLifetime(t *testing.T) {
	text := analysisOf(t, flametest.Analysed(), onlyThread(11))
	flametest.CheckLines(t, text, "of: thread kworker/0:1 <x> (tid 11) of process app (pid 10)", " uninterruptible: 4.000000 s 100.0% 40.0% 8 times",
		"total: 4.000000 s 100.0% 40.0%", "coverage: 40.0% of the window (100%: one thread always at work)")
}

// A process is not idle in the part of a window in which it does not exist, however many threads it has.
func TestReadingOfAShortLifeIsOfThatLife(t *testing.T) {
	const lived = "short-lived: the threads were there for 0.200000 s of the window; start the recording with the command, or record for a shorter time; "
	b := flametest.New()
	in := b.Calls("main", "work")
	for tid := range int32(8) {
		b.Thread(10, 10+tid, "app", flametest.Cell(profile.ClassIdle, format.StateInterruptible, in, 2e8, 1))
	}
	reads(t, b.Profile, lived+"mostly idle: for over half of that time the threads waited for work; record while there is load, record for longer, or look "+
		"at what should have sent the work")
	b.Threads[0].Cells[0].Class = profile.ClassOnCPU
	reads(t, b.Profile, lived+"normal: most of that time is covered, 100% of it on the CPU")
	b.Threads[1].Cells[0].Class = profile.ClassBlocked
	reads(t, b.Profile, lived+"several threads: their time on the CPU, blocked and waiting for a CPU adds up to 2.0 times that time, 50% of it "+
		"off the CPU; look at each by itself")
}

func TestAnalysisInterpretsCoverage(t *testing.T) {
	p := flametest.Analysed()
	flametest.CheckLines(t, analysisOf(t, p, graph.View{}), "threads: 2", "coverage: 100.0% of the window (100%: one thread always at work)",
		"reading: normal: most of the window is covered, 70% of it blocked", " (mostly uninterruptible)")
	p.Threads[1].Cells[0].Ns += 3e9
	p.Threads[1].Lifetime += 3e9
	if text := analysisOf(t, p, graph.View{}); !strings.Contains(text, "several threads: their time on the CPU") {
		t.Errorf("coverage of 130%% is not read as several threads:\n%s", text)
	}
	p.Threads[0].Cells[1].Class = profile.ClassIdle
	if text := analysisOf(t, p, onlyThread(10)); !strings.Contains(text, "mostly idle") || !strings.Contains(text, "coverage:              30.0%") {
		t.Errorf("six of ten seconds of waiting for work are not read as idle:\n%s", text)
	}
	p.Threads[0].Cells = p.Threads[0].Cells[:1]
	if text := analysisOf(t, p, onlyThread(10)); !strings.Contains(text, "mostly left out") {
		t.Errorf("eight of ten seconds of short blocks are not read as left out:\n%s", text)
	}
	flametest.CheckLines(t, analysisOf(t, p, onlyThread(12)), "of: nothing: no thread of the capture was chosen", "threads: 0")
}

// reads checks the reading of a profile, with its lines joined.
func reads(t *testing.T, p *profile.Profile, want string) {
	t.Helper()
	text := analysisOf(t, p, graph.View{})
	_, got, _ := strings.Cut(text, "reading:")
	got, _, _ = strings.Cut(got, "\n\n")
	if got = strings.Join(strings.Fields(got), " "); got != want {
		t.Errorf("it reads %q, want %q:\n%s", got, want, text)
	}
}

func TestReadingNamesTheLargestPart(t *testing.T) {
	b := flametest.New()
	in := b.Calls("main", "read", "k_read")
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassBlocked, format.StateInterruptible, in, 1e9, 1))
	reads(t, b.Profile, "normal: most of the window is covered, 100% of it blocked (sleep)")
	b.Thread(10, 11, "hand", flametest.Cell(profile.ClassOnCPU, 0, in, 6e6, 1))
	reads(t, b.Profile, "several threads: their time on the CPU, blocked and waiting for a CPU adds up to 1.006 times the window, "+
		"99% of it off the CPU (sleep); look at each by itself")
	for tid := int32(12); tid < 22; tid++ {
		b.Thread(10, tid, "hand", flametest.Cell(profile.ClassBlocked, format.StateInterruptible, in, 96e7, 1), flametest.Cell(profile.ClassOnCPU, 0, in, 3e7, 1),
			flametest.Cell(profile.ClassBlocked, format.StateUninterruptible, in, 1e7, 1))
	}
	reads(t, b.Profile, "several threads: their time on the CPU, blocked and waiting for a CPU adds up to 11.0 times the window, "+
		"97% of it off the CPU (mostly sleep); look at each by itself")
	b = flametest.New()
	in = b.Calls("main")
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassOnCPU, 0, in, 9e8, 30), flametest.Cell(profile.ClassPreempted, 0, in, 1e8, 1))
	reads(t, b.Profile, "normal: most of the window is covered, 90% of it on the CPU")
	b.Threads[0].Cells[0].Ns, b.Threads[0].Cells[1].Ns = 2e8, 8e8
	reads(t, b.Profile, "normal: most of the window is covered, 80% of it waiting for a CPU")
}

// Where most time is spent asleep, the reading still names what slows the threads down.
func TestReadingNamesContention(t *testing.T) {
	b := flametest.New()
	lock, nap := b.Calls("main", "pthread_mutex_lock", "k_futex"), b.Calls("main", "k_nanosleep")
	wait := flametest.Cell(profile.ClassBlocked, format.StateInterruptible, lock, 2e8, 1)
	wait.Wait = waits.Result{Class: waits.Lock}
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassBlocked, format.StateInterruptible, nap, 6e8, 1),
		flametest.Cell(profile.ClassRunnable, format.StateInterruptible, nap, 2e8, 1), wait)
	reads(t, b.Profile, "normal: most of the window is covered, 80% of it blocked (mostly sleep); of the time at work, 20% is scheduling delay and "+
		"20% is waits for locks")
	b.Threads[0].Cells[0].Ns, b.Threads[0].Cells[1].Ns, b.Threads[0].Cells[2].Ns = 8e8, 1e8, 1e8
	reads(t, b.Profile, "normal: most of the window is covered, 90% of it blocked (mostly sleep)")
}

func TestReadingOfUnknownTimeDependsOnLoss(t *testing.T) {
	b := flametest.New()
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassUnknown, 0, 0, 1e9, 1))
	reads(t, b.Profile, "mostly unknown: the capture does not show what these threads did, although no events were lost; they are filtered "+
		"out, or the kernel did not report them")
	b.About.IsLossy = true
	reads(t, b.Profile, "mostly unknown: events were lost or filtered out; record again with larger rings or fewer filters")
}

func TestAnalysisReportsTimeWithoutSamples(t *testing.T) {
	text := analysisOf(t, flametest.Box().Profile, graph.View{}) // 1 ms of 351
	flametest.CheckLines(t, text, " not sampled: 0.001000 s 0.1% 0.1%",
		" uninterruptible: 0.100000 s 5.0% 10.0% 3 times", "unknown: 0.100000 s 5.0% 10.0%")
	for _, want := range []string{
		"has a standard error of up to 8.5 percentage points.", "With --spread span only on-CPU intervals with a sample have stacks",
		"To know it better, sample more often",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	p := flametest.Analysed()
	p.Threads[0].Cells[0].Count, p.Threads[0].Cells[1].Count = 1, 1
	text = analysisOf(t, p, onlyThread(10))
	flametest.CheckLines(t, text, "on-CPU: 2.000000 s 20.0% 20.0% 1 sample", " sleep: 3.000000 s 30.0% 30.0% once")
	if strings.Contains(text, "not sampled") || strings.Contains(text, "no sample") {
		t.Errorf("time with samples is reported as without:\n%s", text)
	}
}

func TestVeryShortWindowHasNoRecorderShare(t *testing.T) {
	p := flametest.Analysed()
	p.About.Window = 3e6
	flametest.CheckLines(t, analysisOf(t, p, graph.View{}), "recorder CPU: 0.300000 s")
}

func TestAnalysisRanksBlockingStacks(t *testing.T) {
	text := analysisOf(t, flametest.Analysed(), graph.View{Inline: true})
	flametest.CheckLines(t, text, "Top 2 blocking stacks of 2, innermost function first",
		" 1. 4.000000 s, 57.1%: uninterruptible, 8 times, 0.500000 s each\n read_disk\n main", // two nodes that read alike
		" 2. 3.000000 s, 42.9%: sleep, 300 times, 0.010000 s each\n do_nanosleep_[k]\n inlined\n nap\n main",
		"Top 1 waits for work of 1, innermost function first")
}

func TestAnalysisOfSlotsCoversTheirTimeOnly(t *testing.T) {
	p := flametest.Analysed()
	p.Slot, p.Slots = 1e9, 10
	p.Threads[0].Cells[0].Slots = []profile.SlotTime{{Slot: 2, Ns: 5e8}, {Slot: 7, Ns: 15e8}}
	flametest.CheckLines(t, analysisOf(t, p, graph.View{From: 2, To: 4}), "window: 2.000000 s", "on-CPU: 0.500000 s 100.0% 25.0% 25 samples", "total: 0.500000 s 100.0% 25.0%")
}

func TestThreadTableSumsUpItsRows(t *testing.T) {
	var out bytes.Buffer
	if err := WriteThreads(&out, flametest.Analysed(), graph.View{}); err != nil {
		t.Fatal(err)
	}
	flametest.CheckLines(t, out.String(), " tid role lifetime on-CPU blocked delay idle cover", " 10 main 10.000 2.000 3.000 1.000 3.000 60.0%",
		" 11 kworker/0:1 <x> 4.000 0.000 4.000 0.000 0.000 40.0%", " all 14.000 2.000 7.000 1.000 3.000 100.0%")
}

func TestThreadTableNamesSeveralProcesses(t *testing.T) {
	p := flametest.Analysed()
	p.Threads[1].TID, p.Threads[1].PID = 20, 20
	p.Labels[2].Process = "other"
	var out bytes.Buffer
	if err := WriteThreads(&out, p, graph.View{}); err != nil {
		t.Fatal(err)
	}
	flametest.CheckLines(t, out.String(), "of: 2 processes", " 10 app:main 10.000 2.000 3.000 1.000 3.000 60.0%", " 20 other:main 4.000 0.000 4.000 0.000 0.000 40.0%")
}
