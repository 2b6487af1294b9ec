package around

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

const capture = `section id=0x1 boot_id=b open=1000 close=100000
eventtype 1 name="handle" group="probe" shape=span probe="req"
  field func type=enum
    enum 0 name=handle
eventtype 2 name="handle" group="probe" probe="req" entry
eventtype 3 name="read" group="syscall" shape=span
eventtype 4 name="block" group="block" shape=span
  field op type=enum hint=name
    enum 0 name=read
    enum 1 name=write
eventtype 5 name="oom_kill" group="memory"
task 1 comm=swapper process_comm=swapper flags=idle
task 2 tid=20 pid=20 comm=ping process_comm=ping start=5
task 3 tid=30 pid=30 comm=pong process_comm=pong start=6
`

func plan(t *testing.T, events string, o Options, conditions ...string) *Plan {
	t.Helper()
	stream := fromtext.Stream(t, capture+events+"\nend close=100000")
	for _, text := range conditions {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Conditions = append(o.Conditions, c)
	}
	if o.To == 0 {
		o.From, o.To = -format.MaxTime, format.MaxTime
	}
	p, err := Find(func() (*format.Reader, error) { return format.NewReader(bytes.NewReader(stream)) }, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func text(all []Stretch) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%d-%d ", s.From, s.To)
	}
	return strings.TrimSpace(b.String())
}

const events = `
2000 cpu0 switch 1 next=2
3000 cpu0 typed 2 type=2
4000 cpu0 typed 2 type=1 start=3000 .func=0
10000 cpu0 typed 2 type=2
15000 cpu0 typed 2 type=1 start=10000 .func=0
20000 cpu0 typed 2 type=3 start=16000
21000 cpu0 switch 2 next=3 prev_state=S
30000 cpu0 waking 3 wakee=2
35000 cpu0 switch 3 next=2 prev_state=R+ since=21000 next_state=S
50000 cpu0 typed 2 type=4 start=36000 .op=1
52000 cpu0 typed 2 type=4 start=51000 .op=0
60000 cpu0 typed 2 type=5
70000 cpu0 exit 2 code=9 last
71000 cpu0 switch 2 next=3 prev_state=X since=35000 next_state=R+
80000 cpu0 exit 3 code=0 last
90000 cpu0 typed 3 type=1 start=20000 .func=0 open`

func TestConditions(t *testing.T) {
	o := Options{Before: 100, After: 200}
	for _, c := range []struct{ condition, want string }{
		{"span(req) > 2us", "9900-15201 19900-90201"},
		{"span(handle) > 10us", "19900-90201"},
		{"span(hand*) > 5us", "19900-90201"}, // not of exactly that length
		{"span(entry) > 1us", ""},
		{"span(read) > 1us", "15900-20201"},
		{"syscall(read) > 3us", "15900-20201"},
		{"syscall(write) > 3us", ""},
		{"syscall > 4us", ""},
		{"block > 100ns", "35900-50201 50900-52201"},
		{"block(write) > 100ns", "35900-50201"},
		{"block(read) > 100ns", "50900-52201"},
		{"offcpu(ping) > 8us", "20900-35201"}, // to where it runs again
		{"offcpu(ping) > 9us", ""},
		{"offcpu(pong) > 1us", ""},
		{"runq(ping) > 4us", "29900-35201"},
		{"runq(p?ng) > 30us", "34900-71201"},
		{"event(oom_kill)", "59900-60201"},
		{"event(req)", "3900-4201 14900-15201 89900-90201"}, // not its entries
		{"event(fork)", ""},
		{"event(exit)", "69900-70201 79900-80201"},
		{"exit(signal)", "69900-70201"},
		{"span(req) > median", "9900-15201"}, // of two that have ended
		{"runq(*) > median", "34900-71201"},
	} {
		if got := text(plan(t, events, o, c.condition).Stretches); got != c.want {
			t.Errorf("%s: %s, want %s", c.condition, got, c.want)
		}
	}
}

func TestSurroundingsJoin(t *testing.T) {
	if got := text(plan(t, events, Options{Before: 5000, After: 5000}, "span(req) > 2us", "event(oom_kill)", "exit(signal)").Stretches); got != "5000-95001" {
		t.Error(got)
	}
	if got := text(plan(t, events, Options{Before: 1e6, After: 1e6}, "event(oom_kill)").Stretches); got != "1000-100001" {
		t.Errorf("%s: it is not within the window", got)
	}
	if got := text(plan(t, events, Options{Before: 5000, After: 5000, From: 12000, To: 62000}, "event(oom_kill)", "span(req) > 2us", "exit(signal)").Stretches); got != "12000-20001 55000-62000" {
		t.Errorf("%s: it is not within the range", got)
	}
}

func TestUnknownNamesAreReported(t *testing.T) {
	p := plan(t, events, Options{}, "span(nothing) > 1s", "event(req)", "event(nothing)", "block(nothing) > 1s", "offcpu(nothing) > 1s")
	if fmt.Sprint(p.Unknown) != "[0 2 3]" || fmt.Sprint(p.Names) != "{[req read block] [req read block oom_kill]}" {
		t.Error(p.Unknown, p.Names)
	}
}

// What the recorder was to record says which names can never occur.
func TestConditionsThatNothingCanMeetAreReported(t *testing.T) {
	recorded := func(features, probes string) string {
		return strings.Replace(capture, "eventtype 1", "  config key=features value="+features+"\n  config key=probes value="+fmt.Sprintf("%q", probes)+"\neventtype 1", 1)
	}
	const features = `"sched,task-life,syscall,block,softirq,tp=sched:sched_migrate_task,tcp:*"`
	const probes = "uspan:handle | id:req |\nu:malloc (path:libc.so.6) | id:mem |\nuspan:work_*"
	for condition, want := range map[string]string{
		"span(rqe) > 1ms":                 "nothing that was recorded is called rqe [req irq]",
		"span(req) > 1ms":                 "",
		"span(r?q) > 1ms":                 "",
		"span(work_hard) > 1ms":           "", // it may be called later
		"span(softirq) > 1ms":             "",
		"span(hardirq) > 1ms":             "wprof-record records them with -f hardirq []",
		"span(fsync) > 1ms":               "",
		"span(tcp:tcp_probe) > 1ms":       "nothing that was recorded is called tcp:tcp_probe []",
		"event(tcp:tcp_probe)":            "",
		"event(sched:sched_migrate_task)": "",
		"event(sched:sched_migrate_tsk)":  "nothing that was recorded is called sched:sched_migrate_tsk []",
		"event(malloc)":                   "",
		"event(memm)":                     "nothing that was recorded is called memm [mem]",
		"event(snapshot)":                 "",
		"event(exec)":                     "",
		"event(waking)":                   "waking were not recorded (-f no-wakeup) []",
		"event(oom_kill)":                 "wprof-record records them with -f memory []",
		"offcpu > 1s":                     "",
		"exit(signal)":                    "",
		"syscall(fsnyc) > 1s":             "no span of syscall is called fsnyc [fsync msync sync]",
		"syscall(epoll_*) > 1s":           "",
		"block(discard) > 1s":             "",
		"lock > 1s":                       "wprof-record records them with -f lock []",
		"irq(NET_XR) > 1s":                "no span of irq is called NET_XR [NET_RX NET_TX]",
		"irq(NET_RX) > 1s":                "",
	} {
		if got := lacking(t, recorded(features, probes), condition); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
		if got := lacking(t, capture, condition); got != "" {
			t.Errorf("%s: %q of a capture that does not say what was to be recorded", condition, got)
		}
	}
	if got := lacking(t, recorded(`"task-life"`, ""), "runq > 1s"); got != "switches were not recorded (-f no-sched) []" {
		t.Error(got)
	}
}

// lacking is what is wrong with a condition.
func lacking(t *testing.T, capture, condition string) string {
	t.Helper()
	stream := fromtext.Stream(t, capture+"2000 cpu0 switch 1 next=2\nend close=100000")
	c, err := Parse(condition)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Find(func() (*format.Reader, error) { return format.NewReader(bytes.NewReader(stream)) }, Options{
		Conditions: []Condition{c}, From: -format.MaxTime, To: format.MaxTime,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if len(p.Lacking) == 0 {
		return ""
	}
	return fmt.Sprint(p.Lacking[0].Reason, " ", p.Lacking[0].Near)
}

// What later events show of the end of a stretch comes back as it was.
func TestLater(t *testing.T) {
	p := plan(t, events, Options{}, "event(oom_kill)")
	var got []string
	err := p.Later(&p.Stretches[0], func(l *Later) error {
		start, _ := l.Event.Start()
		got = append(got, fmt.Sprint(l.IsEvent, l.Event.Time, start, l.Event.Flags, l.Event.Task, l.Section))
		return nil
	})
	if want := "[true 90000 20000 21 3 {1 0 0}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}
