//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// pmuWorkload records testdata/pmu.c, and returns its own counts of page faults by function.
func pmuWorkload(t *testing.T, flags ...string) (file string, faults map[string]uint64) {
	t.Helper()
	tools.NeedPrivilege(t)
	program := compileC(t, "pmu")
	file = filepath.Join(t.TempDir(), "pmu.wprof")
	output := filepath.Join(t.TempDir(), "pmu.json")
	tools.Run(t, "wprof-record", append(flags, "-o", file, "--", "sh", "-c", program+" > "+output+children)...)
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var did struct{ Many, Few uint64 }
	if err := json.Unmarshal(text, &did); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return file, map[string]uint64{"touch_many": did.Many, "touch_few": did.Few}
}

// children are processes that start one after the other, and use a CPU for some 10 ms each.
const children = "; for i in 1 2 3; do (n=0; while [ $n -lt 30000 ]; do n=$((n+1)); done); done"

// pmuTotals adds up what the samples of an event in a capture stand for: all, and those of threads called pmu.
func pmuTotals(t *testing.T, file, event string) (rows int, sum, ofProgram uint64) {
	t.Helper()
	for line := range bytes.Lines(tools.Run(t, "wprof-json", "-k", "pmu_event", file)) {
		var one struct {
			T, PMU string
			Task   struct{ Comm string }
			Period uint64 `json:"sample_period"`
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if one.T != "pmu_event" || one.PMU != event {
			continue
		}
		rows++
		sum += one.Period
		if one.Task.Comm == "pmu" {
			ofProgram += one.Period
		}
	}
	return rows, sum, ofProgram
}

const allFunctions = "all functions"

// pmuByFunction adds up the weights of folded stacks of an event by the functions of testdata/pmu.c.
func pmuByFunction(t *testing.T, file, event string) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--folded", "--event", event, file))) {
		stack, weight, _ := strings.Cut(strings.TrimSpace(line), " ")
		for more := ""; ; stack += " " + more { // names of processes have spaces
			n, err := strconv.ParseUint(weight, 10, 64)
			if err == nil {
				all[allFunctions] += n
				for _, function := range []string{"touch_many", "touch_few"} {
					if strings.Contains(stack+";", ";"+function+";") {
						all[function] += n
					}
				}
				break
			}
			if more, weight, _ = strings.Cut(weight, " "); weight == "" {
				t.Fatalf("no weight in %q", line)
			}
		}
	}
	return all
}

// TestEveryPageFaultIsSampled compares samples of each page fault with the kernel's own count in the program.
func TestEveryPageFaultIsSampled(t *testing.T) {
	file, faults := pmuWorkload(t, "-Spmu=page-faults@1", "-S+pmu=page-faults/name=tenth,period=10/")
	if faults["touch_many"] < 900 || faults["touch_few"] < 100 {
		t.Fatalf("the program counts %v", faults)
	}
	got := pmuByFunction(t, file, "page-faults")
	for function, want := range faults {
		if got[function] != want {
			t.Errorf("%s caused %d page faults, the flame graph has %d", function, want, got[function])
		}
	}
	rows, sum, _ := pmuTotals(t, file, "page-faults")
	if uint64(rows) != sum {
		t.Errorf("%d samples of single events stand for %d", rows, sum)
	}
	tenth, tenthSum, _ := pmuTotals(t, file, "tenth")
	if tenthSum != uint64(10*tenth) {
		t.Errorf("%d samples of every tenth event stand for %d", tenth, tenthSum)
	}
	if n := pmuByFunction(t, file, "tenth")[allFunctions]; n != tenthSum {
		t.Errorf("samples of every tenth event stand for %d, the flame graph has %d", tenthSum, n)
	}
	// Other threads on the same CPUs may have caused the event at which the counter overflows.
	if float64(tenthSum) < 0.5*float64(sum) || float64(tenthSum) > 1.5*float64(sum) {
		t.Errorf("samples of every tenth event stand for %d, and there were %d", tenthSum, sum)
	}
}

// TestSwitchesAreSampledInTwoWays compares samples of the software event and of the tracepoint with the switches in the capture.
func TestSwitchesAreSampledInTwoWays(t *testing.T) {
	file, _ := pmuWorkload(t, "-Spmu=sw:context-switches@period=1", "-S+pmu=sched:sched_switch/name=hits/")
	switches := uint64(0)
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind == format.KindSwitch && e.Flags&format.FlagSubject != 0 && string(r.Task(e.Task).Comm) == "pmu" {
			switches++
		}
	})
	if switches < 100 {
		t.Fatalf("the program was switched away %d times", switches)
	}
	for _, event := range []string{"sw:context-switches", "hits"} {
		if _, _, n := pmuTotals(t, file, event); n != switches {
			t.Errorf("%d samples of %s, and %d switches", n, event, switches)
		}
	}
}

// TestEveryNthHitIsSampled compares what samples stand for with the switches in the capture.
func TestEveryNthHitIsSampled(t *testing.T) {
	file, _ := pmuWorkload(t, "-Spmu=sched:sched_switch@7")
	switches := uint64(0)
	tools.WalkFile(t, file, func(_ *format.Reader, e *format.Event) {
		if e.Kind == format.KindSwitch && e.Flags&format.FlagSubject != 0 {
			switches++
		}
	})
	rows, sum, _ := pmuTotals(t, file, "sched:sched_switch")
	cpus := uint64(runtime.NumCPU()) // each has hits left over that make no sample
	if sum != uint64(7*rows) || sum > switches || sum+7*cpus < switches {
		t.Errorf("%d samples of every seventh switch stand for %d of %d", rows, sum, switches)
	}
}

// TestSamplesByFrequency compares what samples stand for with the CPU time that the program used.
func TestSamplesByFrequency(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "spin.wprof")
	spin := "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	tools.Run(t, "wprof-record", "-Spmu=task-clock@freq=2000", "-S+pmu=cpu-clock/name=other/@997hz", "-o", file, "--", "sh", "-c", spin)
	var ran int64
	var since int64
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch {
			return
		}
		if e.Flags&format.FlagObject != 0 {
			since = e.Time
		} else if e.Flags&format.FlagSubject != 0 && since != 0 {
			ran, since = ran+e.Time-since, 0
		}
	})
	for _, event := range []string{"task-clock", "other"} {
		rows, sum, _ := pmuTotals(t, file, event)
		if rows < 20 {
			t.Errorf("%d samples of %s", rows, event)
		}
		if ran > int64(time.Second/10) && (float64(sum) < 0.5*float64(ran) || float64(sum) > 2*float64(ran)) {
			t.Errorf("samples of %s stand for %d ns, and the program ran for %d", event, sum, ran)
		}
	}
}

// TestSamplesOfCountersAreShownByAllTools compares the numbers of samples in what the tools show.
func TestSamplesOfCountersAreShownByAllTools(t *testing.T) {
	file, _ := pmuWorkload(t, "-Spmu=page-faults@1")
	rows, _, _ := pmuTotals(t, file, "page-faults")
	if out := string(tools.Run(t, "wprof-info", file)); !strings.Contains(out, "page-faults of pmu") {
		t.Errorf("wprof-info shows\n%s", out)
	}
	kept := filepath.Join(t.TempDir(), "kept.wprof")
	tools.Run(t, "wprof-filter", "-k", "page-faults*", "-o", kept, file)
	if n, _, _ := pmuTotals(t, kept, "page-faults"); n != rows {
		t.Errorf("%d samples, and %d are left by a filter of their type", rows, n)
	}
	header, _, _ := bytes.Cut(tools.Run(t, "wprof-json", file), []byte("\n"))
	if !bytes.Contains(header, []byte(`"stacks":["pmu"]`)) {
		t.Errorf("the header of the lines is %s", header)
	}
	trace := convertForEngine(t, file)
	result := engine.Query(t, trace, `select count(*) as n, min(s.name) as name from slice s join thread_track t on s.track_id = t.id
		where t.name = 'page-faults'`)[0][0]
	if result["name"] != "page-faults" || asNumber(t, result["n"]) != uint64(rows) {
		t.Errorf("the engine has %v, and the lines have %d samples", result, rows)
	}
}

// TestCountersCountWhatTheProgramCounts compares counts at switches with the kernel's own counts in the program, and with samples of each event.
func TestCountersCountWhatTheProgramCounts(t *testing.T) {
	file, faults := pmuWorkload(t, "--pmu", "page-faults", "--pmu", "task-clock", "--pmu", "sched:sched_switch/name=hits/", "--pmu", "derived:perswitch=page-faults/hits",
		"-Spmu=page-faults/name=each/@1")
	header, lines, _ := bytes.Cut(tools.Run(t, "wprof-json", file), []byte("\n"))
	if !bytes.Contains(header, []byte(`"pmus":["page-faults","task-clock","hits","perswitch"]`)) {
		t.Fatalf("the header is %s", header)
	}
	var counted, clock, hits, switches, uncounted float64
	came := false
	byTrack := make(map[string]float64) // page faults by the track of their rate
	for line := range bytes.Lines(lines) {
		var one struct {
			T          string
			CPU        int
			Prev, Next struct {
				PID  int
				Comm string
			}
			PMUs []*float64
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if one.T != "switch" {
			continue
		}
		if len(one.PMUs) > 0 && one.PMUs[0] != nil {
			byTrack[fmt.Sprintf("page-faults/s CPU %d", one.CPU)] += *one.PMUs[0]
			byTrack[fmt.Sprintf("page-faults/s %d", one.Prev.PID)] += *one.PMUs[0]
		}
		wasSeen := came
		came = one.Next.Comm == "pmu"
		if one.Prev.Comm != "pmu" {
			continue
		}
		if len(one.PMUs) == 0 && !wasSeen { // the kernel has not reported when the program came to the CPU
			uncounted++
			continue
		}
		switches++
		if len(one.PMUs) != 4 || one.PMUs[0] == nil || one.PMUs[1] == nil || one.PMUs[2] == nil {
			t.Fatalf("a switch from the program has no counts: %s", line)
		}
		counted, clock, hits = counted+*one.PMUs[0], clock+*one.PMUs[1], hits+*one.PMUs[2]
		if ratio := *one.PMUs[0] / *one.PMUs[2]; *one.PMUs[2] > 0 && (one.PMUs[3] == nil || *one.PMUs[3] != ratio) {
			t.Errorf("%v page faults and %v switches are %v a switch", *one.PMUs[0], *one.PMUs[2], one.PMUs[3])
		}
	}
	_, _, sampled := pmuTotals(t, file, "each")
	if own := faults["touch_many"] + faults["touch_few"]; counted+20*uncounted < float64(own) || counted > float64(sampled)+float64(faults["touch_few"]) {
		t.Errorf("the program counts %d page faults, the switches %v, and there are %d samples", own, counted, sampled)
	}
	// The switch at the end of a time on the CPU is that of the next one: its event comes after what reads the counters.
	if hits < switches-2 || hits > switches+2 {
		t.Errorf("%v hits of the tracepoint in %v times on a CPU", hits, switches)
	}
	if clock <= 0 || clock > 60e9 {
		t.Errorf("the program ran for %v ns", clock)
	}
	out := string(tools.Run(t, "wprof-info", file))
	for _, want := range []string{"counters", "page-faults ", "perswitch "} {
		if !strings.Contains(out, want) {
			t.Errorf("wprof-info shows no %q:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`task-clock [0-9.,]+ u?s\b`).MatchString(out) {
		t.Errorf("wprof-info shows no duration of task-clock:\n%s", out)
	}
	trace := convertForEngine(t, file)
	total := engine.Query(t, trace, `select sum(int_value) as n from args join slice using (arg_set_id) where flat_key = 'debug.page-faults' and slice.name like 'on CPU%'`)[0][0]["n"]
	if n := asNumber(t, total); float64(n) < 0.9*counted || float64(n) > counted+float64(faults["touch_few"])+100 {
		t.Errorf("slices in the engine have %d page faults, the lines %v", n, counted)
	}
	checkRates(t, trace, "page-faults/s", byTrack)
	rows := engine.Query(t, trace, `select sum(name is null) as nameless, sum(start_ts > trace_start()) as started, max(cpus) as cpus from (select p.*, max(c.value) as cpus
		from process p join process_counter_track t using (upid) join counter c on c.track_id = t.id where t.name = 'task-clock CPUs' group by upid)`)[0][0]
	if asNumber(t, rows["nameless"]) != 0 || asNumber(t, rows["started"]) == 0 {
		t.Errorf("rows of processes with counters: %v", rows)
	}
	if cpus, _ := rows["cpus"].(float64); cpus <= 0 || cpus > float64(runtime.NumCPU())+1 {
		t.Errorf("task-clock counts %v CPUs", rows["cpus"])
	}
	checkCounterSums(t, file, counted, byTrack)
}

// TestCountsBeginInTheirWindow checks that neither a flight recorder's window nor a range of it has counts of what was before.
func TestCountsBeginInTheirWindow(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "flight.wprof")
	burners := "for i in 1 2 3; do (n=0; while [ $n -lt 500000 ]; do n=$((n+1)); done) & done; wait"
	tools.Run(t, "wprof-record", "-F300ms", "-Stimer", "--pmu", "task-clock", "-o", file, "--", "sh", "-c", burners)
	checkBeginOfCounts(t, file)
	cut := filepath.Join(t.TempDir(), "cut.wprof")
	tools.Run(t, "wprof-filter", "--start", "100ms", file, "-o", cut)
	checkBeginOfCounts(t, cut)
}

// checkBeginOfCounts checks what a capture has before the first switch of each CPU, and that no CPU counts more ns than the window has.
func checkBeginOfCounts(t *testing.T, file string) {
	t.Helper()
	clock, switched := map[uint32]int64{}, map[uint32]bool{}
	r := tools.WalkFile(t, file, func(_ *format.Reader, e *format.Event) {
		var counts []byte
		switch e.Kind {
		case format.KindSwitch:
			counts, _ = e.Switch().Counts()
		case format.KindSample:
			counts, _ = e.Sample().Counts()
		default:
			return
		}
		for _, c := range format.ReadCounts(nil, counts) {
			if !switched[e.CPU] {
				t.Errorf("an event of kind %v counts %d ns before the first switch of CPU %d", e.Kind, c.Number, e.CPU)
			} else if e.Kind == format.KindSwitch {
				clock[e.CPU] += int64(c.Number)
			}
		}
		switched[e.CPU] = switched[e.CPU] || e.Kind == format.KindSwitch
	})
	length := r.Session().WindowEndOr(r.End().GetClose()) - r.Session().WindowStart()
	if len(clock) == 0 {
		t.Error("nothing has counts")
	}
	for cpu, ns := range clock {
		if ns > length+length/10 {
			t.Errorf("CPU %d counts %d ns in a window of %d ns", cpu, ns, length)
		}
	}
}

// checkCounterSums compares the sums of wprof-info --json with the counts of the thread pmu, and with those of CPUs and processes.
func checkCounterSums(t *testing.T, file string, ofProgram float64, want map[string]float64) {
	t.Helper()
	type sum struct {
		CPU, PID int
		Comm     string
		Values   []struct {
			Name, Unit string
			Value      float64
		}
	}
	var out struct {
		Recordings []struct {
			Counters struct{ CPUs, Processes, Threads []sum }
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &out); err != nil {
		t.Fatal(err)
	}
	got, of := make(map[string]float64), out.Recordings[0].Counters
	for _, one := range of.CPUs {
		got[fmt.Sprintf("page-faults/s CPU %d", one.CPU)] += one.Values[0].Value
	}
	for _, one := range of.Processes {
		got[fmt.Sprintf("page-faults/s %d", one.PID)] += one.Values[0].Value
	}
	if unit := of.CPUs[0].Values[1].Unit; unit != "ns" {
		t.Errorf("task-clock has the unit %q", unit)
	}
	if !maps.Equal(got, want) {
		t.Errorf("wprof-info has %v, the lines %v", got, want)
	}
	for _, one := range of.Threads {
		if one.Comm == "pmu" {
			ofProgram -= one.Values[0].Value
		}
	}
	if ofProgram != 0 {
		t.Errorf("the lines of the program have %v more page faults than its threads in wprof-info", ofProgram)
	}
}

// checkRates compares the area below each track of a rate in the engine with a number.
func checkRates(t *testing.T, trace, name string, want map[string]float64) {
	t.Helper()
	ofCPU := 0
	for _, row := range engine.Query(t, trace, fmt.Sprintf(`with steps as (select t.name || coalesce(' ' || p.pid, '') as name, c.value as value,
		lead(c.ts, 1, trace_end()) over (partition by c.track_id order by c.ts) - c.ts as dur
		from counter c join track t on t.id = c.track_id left join process_counter_track pt on pt.id = t.id left join process p using (upid) where t.name glob '%s*')
		select name, cast(round(sum(value * dur / 1e9)) as int) as area from steps group by 1`, name))[0] {
		track := fmt.Sprint(row["name"])
		if area := asNumber(t, row["area"]); float64(area) != want[track] {
			t.Errorf("%s has an area of %d, the lines have %v", track, area, want[track])
		}
		if strings.Contains(track, "CPU") {
			ofCPU++
		}
	}
	if ofCPU == 0 {
		t.Errorf("no CPU has a track %s", name)
	}
}

// TestCountersThatCannotBeReadAreRefused checks the sentence and the status.
func TestCountersThatCannotBeReadAreRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		flags []string
		text  string
	}{
		{[]string{"--pmu=page-falts"}, "did you mean page-faults"}, {[]string{"--pmu=cs@99hz"}, "has no rate"}, {[]string{"--pmu=derived:x=cs"}, "not one event divided by another"},
		{[]string{"--pmu=cs", "--pmu=cs"}, "two counters are called"}, {[]string{"--pmu=derived:ratio=cs/faults", "-Spmu=ratio"}, "only an event can be sampled"},
		{strings.Split("--pmu=cs/name=a/ --pmu=cs/name=b/ --pmu=cs/name=c/ --pmu=cs/name=d/ --pmu=cs/name=e/ --pmu=cs/name=f/ --pmu=cs/name=g/ --pmu=cs/name=h/ --pmu=cs/name=i/", " "), "at most 8"},
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", append(c.flags, "-d100ms")...)
		if r.Status != 2 || !strings.Contains(string(r.Stderr), c.text) {
			t.Errorf("%v ends with status %d: %s; want %q", c.flags, r.Status, r.Stderr, c.text)
		}
	}
}

func asNumber(t *testing.T, value any) uint64 {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		t.Fatalf("%s is no number", text)
	}
	return uint64(n)
}

// TestEventsThatCannotBeSampledAreRefused checks the sentence and the status, before anything is written.
func TestEventsThatCannotBeSampledAreRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	for event, want := range map[string]struct {
		status int
		text   string
	}{
		"page-faults@100000000hz":  {1, "kernel.perf_event_max_sample_rate is"},
		"page-fualts":              {2, "did you mean page-faults"},
		"page-faults@0":            {2, "must be 1 or more"},
		"sched:sched_switch@99hz":  {2, "write @period=N"},
		"sched:sched_switch:u":     {2, "leave out the modifiers"},
		"sched:sched_swich":        {2, "did you mean sched:sched_switch"},
		"derived:ipc=cs/faults":    {2, "only an event can be sampled"},
		"nothere/event=1/":         {2, "this machine has no PMU nothere"},
		"":                         {2, "needs an event"},
		"page-faults/name=x/@1,cs": {2, "is no rate"},
	} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := tools.Try(t, time.Minute, nil, "wprof-record", "-Spmu="+event, "-d100ms", "-o", file)
		if r.Status != want.status || !strings.Contains(string(r.Stderr), want.text) {
			t.Errorf("-Spmu=%s ends with status %d: %s; want %d and %q", event, r.Status, r.Stderr, want.status, want.text)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("-Spmu=%s has written a file", event)
		}
	}
	for event, want := range map[string]string{"cs": "give one another name", "sched:sched_switch": "is sampled already"} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", "-Spmu="+event, "-S+pmu="+event+"@1", "-d100ms")
		if r.Status != 2 || !strings.Contains(string(r.Stderr), want) {
			t.Errorf("%s twice: status %d, %s", event, r.Status, r.Stderr)
		}
	}
}
