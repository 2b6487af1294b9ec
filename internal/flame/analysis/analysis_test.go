package analysis

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
	"wprof/internal/timeline"
)

// reported is a report of times by class, of threads of one process in a window.
func reported(window int64, threads int, times ...report.Time) *report.Report {
	r := &report.Report{WindowNs: window, Threads: threads, Processes: 1, Time: times}
	for _, t := range times {
		r.TotalNs += t.Ns
	}
	r.LivedNs = min(r.TotalNs, window)
	return r
}

// ofMain and ofWorker are the reports of the two threads of flametest.Analysed, in a window of 10 s: main runs 2 s, sleeps 3 s, is delayed
// 1 s and waits for work 4 s; the second one lived for 4 s and waited for disks.
func ofMain() *report.Report {
	return reported(10e9, 1, report.Time{Class: "on-CPU", Ns: 2e9, Count: 98}, report.Time{Class: "runnable", Ns: 6e8, Count: 6}, report.Time{Class: "preempted", Ns: 4e8, Count: 4},
		report.Time{Class: "timer", Ns: 3e9, Count: 300}, report.Time{Class: "idle", Ns: 4e9, Count: 4})
}

func ofWorker() *report.Report {
	return reported(10e9, 1, report.Time{Class: "disk read", Ns: 4e9, Count: 8})
}

func ofBoth() *report.Report {
	return reported(10e9, 2, append(ofMain().Time, ofWorker().Time...)...)
}

// shelf has the reports of the threads of flametest.Analysed, but for those that are missing.
type shelf struct{ missing int32 }

func (s shelf) Report() *report.Report { return ofBoth() }

func (s shelf) ThreadReport(of timeline.Key) *report.Report {
	switch of.TID {
	case s.missing:
		return nil
	case 10:
		return ofMain()
	}
	return ofWorker()
}

func analysisOf(t *testing.T, p *profile.Profile, v graph.View, r *report.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, p, v, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 121 || strings.TrimRight(line, " \n")+"\n" != line {
			t.Errorf("%q is wider than 120 columns or ends in blanks", line)
		}
	}
	return out.String()
}

func onlyThread(tid int32) graph.View {
	return graph.View{Only: func(t *profile.Thread) bool { return t.TID == tid }}
}

func TestAnalysisDescribesTheRecording(t *testing.T) {
	r := ofMain()
	text := analysisOf(t, flametest.Analysed(), onlyThread(10), r)
	flametest.CheckLines(t, text, "of: process app (pid 10)", "threads: 1", "recorded: 2026-11-21 20:30:00 UTC", "window: 10.000000000 s",
		"on-CPU: 2.000000000 s 20.0% 20.0% 98", "blocked: 3.000000000 s 30.0% 30.0% 300", " timer: 3.000000000 s 30.0% 30.0% 300",
		"scheduling delay: 1.000000000 s 10.0% 10.0% 10", "idle: 4.000000000 s 40.0% 40.0% 4", "total: 10.000000000 s 100.0% 100.0%",
		"coverage: 60.0% of the window (100%: one thread always at work)",
		"recorder CPU: 0.300000000 s, 3.0% of one CPU over the window", "recorder memory: 52.4 MB at its peak")
	var lists bytes.Buffer
	r.PrintLists(&lists)
	if !strings.Contains(text, lists.String()) {
		t.Errorf("it lacks the report\n%s:\n%s", lists.String(), text)
	}
	flametest.CheckLines(t, analysisOf(t, flametest.Analysed(), onlyThread(11), ofWorker()), "of: thread kworker/0:1 <x> (tid 11) of process app (pid 10)")
	flametest.CheckLines(t, analysisOf(t, flametest.Analysed(), onlyThread(12), nil), "of: nothing: no thread of the capture was chosen")
}

// A thread beyond those that have a report of their own still has its stacks.
func TestAnalysisWithoutAReport(t *testing.T) {
	text := analysisOf(t, flametest.Analysed(), onlyThread(11), nil)
	flametest.CheckLines(t, text, "No report: there is one of each of the first threads only, and none of the idle threads of CPUs", "Top 1 blocking stacks of 1, innermost function first")
}

func TestReading(t *testing.T) {
	const (
		lived = "short-lived: the threads were there for 0.200000000 s of the window; start the recording with the command, or record for a shorter time; "
		sum   = "several threads: their time on the CPU, blocked and waiting for a CPU adds up to "
	)
	cpu := func(ns int64) report.Time { return report.Time{Class: "on-CPU", Ns: ns} }
	sleep := func(ns int64) report.Time { return report.Time{Class: "timer", Ns: ns} }
	idle := func(ns int64) report.Time { return report.Time{Class: "idle", Ns: ns} }
	delay := func(ns int64) report.Time { return report.Time{Class: "preempted", Ns: ns} }
	lost := func(ns int64) report.Time { return report.Time{Class: "not recorded", Ns: ns} }
	short := func(times ...report.Time) *report.Report {
		r := reported(1e9, 8, times...)
		r.LivedNs = 2e8
		return r
	}
	lossy := reported(1e9, 1, lost(1e9))
	lossy.LostData = true
	for want, r := range map[string]*report.Report{
		"normal: most of the window is covered, 100% of it blocked (timer)":                   reported(1e9, 1, sleep(1e9)),
		sum + "1.006 times the window, 99% of it off the CPU (timer); look at each by itself": reported(1e9, 2, sleep(1e9), cpu(6e6)),
		sum + "11.0 times the window, 97% of it off the CPU (mostly timer); look at each by itself": reported(1e9, 12, sleep(106e8), cpu(306e6),
			report.Time{Class: "disk read", Ns: 1e8}),
		"normal: most of the window is covered, 90% of it on the CPU":             reported(1e9, 1, cpu(9e8), delay(1e8)),
		"normal: most of the window is covered, 80% of it waiting for a CPU":      reported(1e9, 1, cpu(2e8), delay(8e8)),
		"normal: most of the window is covered, 90% of it blocked (mostly timer)": reported(1e9, 1, sleep(8e8), delay(1e8), report.Time{Class: "lock", Ns: 1e8}),
		"normal: most of the window is covered, 80% of it blocked (mostly timer); of the time at work, 20% is scheduling delay and 20% is waits for locks": reported(1e9, 1,
			sleep(6e8), delay(2e8), report.Time{Class: "lock", Ns: 2e8}),
		"mostly unknown: the capture does not show what these threads did, although no events were lost; they are filtered out, or the kernel did not report them":       reported(1e9, 1, lost(1e9)),
		"mostly unknown: events were lost or filtered out; record again with larger rings or fewer filters":                                                              lossy,
		"mostly idle: for over half of the window the threads waited for work; record while there is load, record for longer, or look at what should have sent the work": reported(1e9, 1, cpu(3e8), idle(7e8)),
		// A process is not idle in the part of a window in which it does not exist, however many threads it has.
		lived + "mostly idle: for over half of that time the threads waited for work; record while there is load, record for longer, or look at what should have sent the work": short(idle(16e8)),
		lived + "normal: most of that time is covered, 100% of it on the CPU":                                                                                                   short(cpu(2e8), idle(14e8)),
		lived + sum + "2.0 times that time, 50% of it off the CPU; look at each by itself":                                                                                      short(cpu(2e8), sleep(2e8), idle(12e8)),
	} {
		if got := reading(r); got != want {
			t.Errorf("it reads %q, want %q", got, want)
		}
	}
}

func TestAnalysisReportsTimeWithoutSamples(t *testing.T) {
	text := analysisOf(t, flametest.Box().Profile, graph.View{}, ofBoth()) // 1 ms of 351
	flametest.CheckLines(t, text, "not sampled: 0.001000000 s, 0.3% of the on-CPU time: where in the code it was spent is unknown")
	for _, want := range []string{
		"has a standard error of up to 8.5 percentage points.", "With --spread span only on-CPU intervals with a sample have stacks",
		"To know it better, sample more often",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if text = analysisOf(t, flametest.Analysed(), onlyThread(10), ofMain()); strings.Contains(text, "not sampled") {
		t.Errorf("time with samples is reported as without:\n%s", text)
	}
}

func TestVeryShortWindowHasNoRecorderShare(t *testing.T) {
	p := flametest.Analysed()
	p.About.Window = 3e6
	flametest.CheckLines(t, analysisOf(t, p, graph.View{}, ofBoth()), "recorder CPU: 0.300000000 s")
}

func TestAnalysisRanksBlockingStacks(t *testing.T) {
	text := analysisOf(t, flametest.Analysed(), graph.View{Inline: true}, ofBoth())
	flametest.CheckLines(t, text, "Top 2 blocking stacks of 2, innermost function first",
		"Off-CPU intervals of less than 1ms are not in them",
		" 1. 4.000000000 s, 57.1%: unknown (uninterruptible), 8 times, 0.500000000 s each\n read_disk\n main", // two nodes that read alike
		" 2. 3.000000000 s, 42.9%: unknown (interruptible), 300 times, 0.010000000 s each\n do_nanosleep_[k]\n inlined\n nap\n main",
		"Top 1 waits for work of 1, innermost function first")
}

func TestThreadTableSumsUpItsRows(t *testing.T) {
	p := flametest.Analysed()
	check := func(of Reports, want ...string) (text string) {
		var out bytes.Buffer
		if err := WriteThreads(&out, p, graph.View{}, of); err != nil {
			t.Fatal(err)
		}
		flametest.CheckLines(t, out.String(), want...)
		return out.String()
	}
	all := " all 14.000 2.000 7.000 1.000 4.000 100.0%"
	check(shelf{}, " tid role lifetime on-CPU blocked delay idle cover", " 10 main 10.000 2.000 3.000 1.000 4.000 60.0%",
		" 11 kworker/0:1 <x> 4.000 0.000 4.000 0.000 0.000 40.0%", all)
	if text := check(shelf{missing: 11}, " 10 main 10.000 2.000 3.000 1.000 4.000 60.0%", all); strings.Contains(text, "kworker") {
		t.Errorf("a thread without a report has a row:\n%s", text)
	}
	p.Threads[1].TID, p.Threads[1].PID = 20, 20
	p.Labels[2].Process = "other"
	check(shelf{}, "of: 2 processes", " 10 app:main 10.000 2.000 3.000 1.000 4.000 60.0%", " 20 other:main 4.000 0.000 4.000 0.000 0.000 40.0%")
}
