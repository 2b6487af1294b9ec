//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/engine"
	"wprof/test/tools"
)

// sourceLine is a line of wprof-json about an event of a type of its own.
type sourceLine struct {
	TS    float64
	Start float64 `json:"start_ts"`
	Dur   float64
	CPU   int
	Open  string
	Name  string
	Task  struct {
		TID, PID int
		Comm     string
	}
	Args map[string]any
}

func (l *sourceLine) number(arg string) uint64 {
	text, _ := l.Args[arg].(json.Number)
	if text == "" { // hexadecimal numbers are texts
		word, _ := l.Args[arg].(string)
		n, _ := strconv.ParseUint(word, 0, 64)
		return n
	}
	n, _ := strconv.ParseUint(text.String(), 10, 64)
	return n
}

// sourceLines are the lines of a capture whose type has a name in names.
func sourceLines(t *testing.T, file string, names ...string) (lines []sourceLine) {
	t.Helper()
	for line := range bytes.Lines(tools.Run(t, "wprof-json", file)) {
		if !bytes.Contains(line, []byte(`"t":"typed"`)) {
			continue
		}
		var one sourceLine
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if slices.Contains(names, one.Name) {
			lines = append(lines, one)
		}
	}
	return lines
}

func compileC(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-o", path, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v: %s", name, err, out)
	}
	return path
}

// TestActsAreRecordedOnceEach compares events with what a program did to itself.
func TestActsAreRecordedOnceEach(t *testing.T) {
	tools.NeedPrivilege(t)
	program := compileC(t, "acts")
	file, output := filepath.Join(t.TempDir(), "acts.wprof"), filepath.Join(t.TempDir(), "acts.json")
	tools.Run(t, "wprof-record", "-f", "signal,fault,migrate,io_uring", "-o", file, "--", "sh", "-c", "exec "+program+" > "+output)
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var did struct {
		Signals, Ignored, Handled, Pages, Moves, Nops int
		Start                                         uint64
	}
	if err := json.Unmarshal(text, &did); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got := map[string]int{}
	pages := map[uint64]int{}
	for _, l := range sourceLines(t, file, "signal_sent", "signal_delivered", "fault", "migrate", "io_uring") {
		if l.Task.Comm != "acts" && l.Name != "migrate" {
			continue
		}
		switch l.Name {
		case "signal_sent":
			key, _ := l.Args["signal"].(string)
			result, _ := l.Args["result"].(string)
			got[key+" "+result]++
		case "signal_delivered":
			key, _ := l.Args["signal"].(string)
			action, _ := l.Args["action"].(string)
			got[key+" "+action]++
		case "fault":
			if page := (l.number("address") - did.Start) / uint64(os.Getpagesize()); page < uint64(did.Pages) {
				pages[page]++
			}
		case "migrate":
			if l.Task.Comm == "acts" && l.number("from") != l.number("to") {
				got["migrate"]++
			}
		case "io_uring":
			if user := l.number("user_data"); l.Args["op"] == "nop" && l.number("result") == 0 && user >= 1000 && user < 1000+uint64(did.Nops) {
				got["nop"]++
			}
		}
	}
	for key, want := range map[string]int{
		"SIGUSR1 queued": did.Signals, "SIGUSR1 handler": did.Handled, "SIGUSR2 ignored": did.Ignored, "SIGUSR2 handler": 0, "nop": did.Nops,
	} {
		if got[key] != want {
			t.Errorf("%s: the program did %d, the capture has %d", key, want, got[key])
		}
	}
	// Before the program binds itself to a CPU, the scheduler may move it as well.
	if n := got["migrate"]; n < did.Moves || n > did.Moves+5 {
		t.Errorf("the program moved %d times, the capture has %d", did.Moves, n)
	}
	for page := range uint64(did.Pages) {
		if pages[page] == 0 {
			t.Fatalf("page %d has no fault; %d have", page, len(pages))
		}
	}
	if len(pages) != did.Pages {
		t.Errorf("%d pages were touched, %d have faults", did.Pages, len(pages))
	}
	checkSourcesInEngine(t, file, map[string]string{
		"Signals sent": "signal_sent", "Signals delivered": "signal_delivered", "Page faults": "fault,major_fault", "Migrations": "migrate", "io_uring": "io_uring",
	})
	if handler := handlerName(t, file); handler != "count_signal" {
		t.Errorf("the handler is called %q", handler)
	}
}

// handlerName is the function that handled SIGUSR1.
func handlerName(t *testing.T, file string) string {
	t.Helper()
	for _, l := range sourceLines(t, file, "signal_delivered") {
		if l.Args["signal"] != "SIGUSR1" {
			continue
		}
		for line := range bytes.Lines(tools.Run(t, "wprof-json", file)) {
			if bytes.HasPrefix(line, []byte(`{"id":`+strconv.FormatUint(l.number("handler"), 10)+`,"frames":["[U] count_signal`)) {
				return "count_signal"
			}
		}
	}
	return ""
}

// convertForEngine converts a capture for Perfetto's engine, which has no complaint about the trace.
func convertForEngine(t *testing.T, file string) (trace string) {
	t.Helper()
	engine.Need(t)
	trace = tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", file)
	engine.CheckStats(t, trace)
	return trace
}

// checkSourcesInEngine compares the slices that Perfetto's engine has on the tracks of sources with the JSON lines, by the tracks' names.
// Those of idle threads are on tracks of their CPUs.
func checkSourcesInEngine(t *testing.T, file string, tracks map[string]string) {
	t.Helper()
	trace := convertForEngine(t, file)
	has := map[string]int{}
	for _, row := range engine.Query(t, trace, `select t.name as track, count(s.id) as n from slice s join track t on s.track_id = t.id group by t.name`)[0] {
		n, _ := strconv.Atoi(fmt.Sprint(row["n"]))
		name, _, _ := strings.Cut(fmt.Sprint(row["track"]), " CPU ")
		has[name] += n
	}
	for track, types := range tracks {
		if n := len(sourceLines(t, file, strings.Split(types, ",")...)); n == 0 || has[track] != n {
			t.Errorf("the engine has %d slices on the track %s, the lines are %d", has[track], track, n)
		}
	}
}

// checkCountersInEngine compares the number and the sum of a counter's values with the JSON lines of a type, by the tracks' names,
// in which N is the number of the CPU.
func checkCountersInEngine(t *testing.T, file, name string, tracks map[string]string) {
	t.Helper()
	trace := convertForEngine(t, file)
	type sum struct {
		n     int
		total float64
	}
	has, want := map[string]sum{}, map[string]sum{}
	for _, row := range engine.Query(t, trace, `select t.name as track, count(c.id) as n, sum(c.value) as total from counter c join track t on c.track_id = t.id group by t.name`)[0] {
		n, _ := strconv.Atoi(fmt.Sprint(row["n"]))
		total, _ := strconv.ParseFloat(fmt.Sprint(row["total"]), 64)
		has[fmt.Sprint(row["track"])] = sum{n, total}
	}
	for _, l := range sourceLines(t, file, name) {
		for track, arg := range tracks {
			value, _ := strconv.ParseFloat(fmt.Sprint(l.Args[arg]), 64)
			track = strings.ReplaceAll(track, "N", strconv.Itoa(l.CPU))
			want[track] = sum{want[track].n + 1, want[track].total + value}
		}
	}
	if len(want) == 0 {
		t.Errorf("no %s is recorded", name)
	}
	for track, w := range want {
		if has[track] != w {
			t.Errorf("the engine has %v as number and sum of the counter %s, the lines have %v", has[track], track, w)
		}
	}
}

// TestIdleStates compares counters of CPUs with the lines, where this kernel reports idle states.
func TestIdleStates(t *testing.T) {
	tools.NeedPrivilege(t)
	file := tools.Record(t, filepath.Join(t.TempDir(), "power.wprof"), []string{"-f", "power"}, func() {
		for range 50 {
			time.Sleep(10 * time.Millisecond)
		}
	})
	checkCountersInEngine(t, file, "cpu_idle", map[string]string{"CPU idle_state CPU N": "idle_state"})
}

// diskCounts are columns of /proc/diskstats, for all devices together.
type diskCounts struct {
	from, to                         int64
	reads, writes, flushes, discards map[string]uint64
	sectors                          map[string]uint64 // read and written
}

func readDisks(t *testing.T) diskCounts {
	t.Helper()
	c := diskCounts{
		reads: map[string]uint64{}, writes: map[string]uint64{}, flushes: map[string]uint64{}, discards: map[string]uint64{}, sectors: map[string]uint64{},
	}
	c.from = proc.Monotonic()
	text, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		t.Fatal(err)
	}
	c.to = proc.Monotonic()
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		number := func(i int) uint64 {
			if i >= len(words) {
				return 0
			}
			n, _ := strconv.ParseUint(words[i], 10, 64)
			return n
		}
		name := words[2]
		c.reads[name], c.writes[name], c.discards[name], c.flushes[name] = number(3), number(7), number(14), number(18)
		c.sectors[name] = number(5) + number(9)
	}
	return c
}

// diskRequests is what a capture has of the requests of a device and operation.
type diskRequests struct{ requests, sectors uint64 }

// requestsBetween counts the requests that were completed surely between two reads, and those that may have been.
func requestsBetween(lines []sourceLine, opened int64, before, after diskCounts) (surely, maybe map[string]diskRequests) {
	surely, maybe = map[string]diskRequests{}, map[string]diskRequests{}
	for i := range lines {
		l := &lines[i]
		at := opened + int64(l.TS*1e9)
		add := func(to map[string]diskRequests) {
			key := fmt.Sprint(l.Args["device"], " ", l.Args["op"])
			c := to[key]
			c.requests++
			c.sectors += l.number("bytes") / 512
			to[key] = c
		}
		if at > before.to+apart && at < after.from-apart {
			add(surely)
		}
		if at > before.from-apart && at < after.to+apart {
			add(maybe)
		}
	}
	return surely, maybe
}

// compareDisks compares the requests of a capture between two reads, and returns how many the kernel counts of those that are in both.
func compareDisks(t *testing.T, lines []sourceLine, opened int64, before, after diskCounts) (seen uint64) {
	t.Helper()
	surely, maybe := requestsBetween(lines, opened, before, after)
	for device := range after.reads {
		for op, n := range map[string]uint64{
			"read": after.reads[device] - before.reads[device], "write": after.writes[device] - before.writes[device],
			"discard": after.discards[device] - before.discards[device],
		} {
			key := device + " " + op
			if maybe[key].requests == 0 {
				continue // partitions and devices without queues have lines of their own
			}
			seen += n
			if n < surely[key].requests || n > maybe[key].requests {
				t.Errorf("%s: the kernel counts %d requests, the capture has %d to %d", key, n, surely[key].requests, maybe[key].requests)
			}
		}
		if n := after.sectors[device] - before.sectors[device]; maybe[device+" read"].sectors > 0 && maybe[device+" write"].sectors > 0 {
			least, most := surely[device+" read"].sectors+surely[device+" write"].sectors, maybe[device+" read"].sectors+maybe[device+" write"].sectors
			if n < least || n > most {
				t.Errorf("%s: the kernel counts %d sectors, the capture has %d to %d", device, n, least, most)
			}
		}
	}
	return seen
}

// TestRequestsAreThoseThatTheKernelCounts compares requests of block devices with /proc/diskstats.
func TestRequestsAreThoseThatTheKernelCounts(t *testing.T) {
	tools.NeedPrivilege(t)
	var reads []diskCounts
	var when []interval
	dir := t.TempDir()
	file := tools.Record(t, filepath.Join(dir, "block.wprof"), []string{"-f", "block"}, func() {
		for i := range 60 {
			reads = append(reads, readDisks(t))
			path := filepath.Join(dir, "data")
			work := exec.Command("dd", "if=/dev/zero", "of="+path, "bs=64k", "count=8", "conv=fsync")
			if i%2 == 1 {
				work = exec.Command("dd", "if="+path, "of=/dev/null", "bs=64k", "iflag=direct")
			}
			if out, err := work.CombinedOutput(); err != nil {
				t.Fatalf("dd: %v: %s", err, out)
			}
		}
		time.Sleep(20 * time.Millisecond)
		reads = append(reads, readDisks(t))
	})
	lines := sourceLines(t, file, "block")
	for i := range lines {
		if lines[i].Dur < 0 || lines[i].Dur > 10 {
			t.Errorf("a request took %g s", lines[i].Dur)
		}
	}
	for _, r := range reads {
		when = append(when, interval{r.from, r.to})
	}
	opened := openTime(t, file)
	seen, depths := uint64(0), 0
	for _, run := range comparable(t, when, hiddenIn(t, file)) {
		first, last := reads[run[0]], reads[run[1]]
		seen += compareDisks(t, lines, opened, first, last)
		excess := uint64(0)
		if run[0] > 0 {
			excess = 16
		}
		const longest = 50e6 // the end of a longer request may be hidden
		depths += checkDepths(t, lines, opened, first.to, last.from-longest, excess)
	}
	checkDiskTracks(t, file)
	if depths < 10 {
		t.Errorf("only %d of %d requests start alone", depths, len(lines))
	}
	if seen < 20 {
		t.Errorf("only %d requests are in both", seen)
	}
}

// openTime is when a capture's window opened, CLOCK_MONOTONIC ns.
func openTime(t *testing.T, file string) int64 {
	t.Helper()
	var at int64
	tools.WalkFile(t, file, func(r *format.Reader, _ *format.Event) { at = r.Session().GetOpen() })
	return at
}

// TestReclaimAndKillsOfACgroup runs a program that wants more memory than its cgroup has.
func TestReclaimAndKillsOfACgroup(t *testing.T) {
	tools.NeedPrivilege(t)
	group := tools.NewMemoryLimit(t, 20<<20)
	data := filepath.Join(t.TempDir(), "data")
	var victim int
	file := tools.Record(t, filepath.Join(t.TempDir(), "memory.wprof"), []string{"-f", "memory"}, func() {
		inside := func(dd string) *exec.Cmd {
			return exec.Command("sh", "-c", group.Join()+"exec dd if=/dev/zero "+dd)
		}
		if err := inside("of=" + data + " bs=1M count=60 conv=fsync").Run(); err != nil {
			t.Fatalf("write a file within the limit: %v", err)
		}
		hog := inside("of=/dev/null bs=80M count=1")
		_ = hog.Run()
		if victim = hog.Process.Pid; hog.ProcessState.Success() {
			t.Error("the kernel has killed nothing")
		}
	})
	reclaims, victims := 0, map[string]bool{}
	for _, l := range sourceLines(t, file, "reclaim", "oom_kill") {
		switch {
		case l.Name == "oom_kill":
			task, _ := l.Args["victim"].(map[string]any)
			tid, _ := task["tid"].(json.Number)
			victims[tid.String()] = true
		case l.Task.Comm == "dd" && l.number("pages") > 0 && l.Dur > 0:
			reclaims++
		}
	}
	if reclaims == 0 {
		t.Error("the capture has no reclaim of the program that writes a file larger than its limit")
	}
	if !victims[strconv.Itoa(victim)] {
		t.Errorf("process %d was killed for lack of memory, the capture has %v", victim, victims)
	}
	checkSourcesInEngine(t, file, map[string]string{"Memory": "reclaim,compaction,oom_kill"})
	checkCountersInEngine(t, file, "rss", map[string]string{"Resident anon": "anon", "Resident file": "file"})
}

// checkDepths compares the requests that a device had at the start of each one with those in the capture, between two times. Starts and ends
// that are close to it are on another CPU, which may come first. Requests of before whose end was hidden are counted until the kernel uses
// their memory again, so excess, which is how many there are at most, can only fall.
func checkDepths(t *testing.T, lines []sourceLine, opened int64, from, to int64, excess uint64) (compared int) {
	t.Helper()
	const near = 100e-6
	for i := range lines {
		l := &lines[i]
		start := opened + int64(l.Start*1e9)
		had, clear := uint64(1), l.number("depth_at_start") > 0 && start > from && start < to
		for j := range lines {
			other := &lines[j]
			if i == j || other.Args["device"] != l.Args["device"] || other.number("depth_at_start") == 0 {
				continue
			}
			clear = clear && math.Abs(other.Start-l.Start) > near && math.Abs(other.TS-l.Start) > near
			if other.Start < l.Start && other.TS > l.Start {
				had++
			}
		}
		if !clear {
			continue
		}
		compared++
		got := l.number("depth_at_start")
		if got < had || got-had > excess {
			t.Errorf("a request at %g s found %d requests in the device, itself counted, of which %d are in the capture", l.Start, got, had)
			continue
		}
		excess = got - had
	}
	return compared
}

// checkDiskTracks finds a track of requests, and a counter of those that it has at their starts and ends, for each device.
func checkDiskTracks(t *testing.T, file string) {
	t.Helper()
	devices := map[string]int{}
	for _, l := range sourceLines(t, file, "block") {
		device, _ := l.Args["device"].(string)
		devices[device]++
	}
	trace := convertForEngine(t, file)
	for device, want := range devices {
		rows := engine.Query(t, trace, `select (select count(*) from slice s join track t on s.track_id = t.id where t.name = 'Disk `+device+`') as slices,
			(select count(*) from counter c join counter_track t on c.track_id = t.id where t.name = 'Disk `+device+` depth') as depths`)[0]
		if got := fmt.Sprint(rows[0]["slices"], " ", rows[0]["depths"]); got != fmt.Sprint(want, " ", 2*want) {
			t.Errorf("the engine has %s slices and depths of %s, the lines are %d", got, device, want)
		}
	}
}

// The kernel ends the threads of a process that a signal kills by a SIGKILL that nobody sends.
func TestSignalThatKills(t *testing.T) {
	file := filepath.Join(t.TempDir(), "killed.wprof")
	tools.Run(t, "wprof-record", "-f", "signal", "-o", file, "--", "sh", "-c", "sh -c 'kill -TERM $$' ; true")
	var delivered []string
	for _, l := range sourceLines(t, file, "signal_delivered") {
		if signal, _ := l.Args["signal"].(string); l.Task.Comm == "sh" && (signal == "SIGTERM" || signal == "SIGKILL") {
			delivered = append(delivered, signal)
		}
	}
	if !slices.Equal(delivered, []string{"SIGTERM"}) {
		t.Errorf("%q were delivered to a process that SIGTERM killed", delivered)
	}
	if exits := tools.Run(t, "wprof-json", file); bytes.Count(exits, []byte(`"exit_signal":15`)) != 1 || bytes.Contains(exits, []byte(`"exit_signal":9`)) {
		t.Errorf("no thread, or more than one, has exited by signal 15, or one has by signal 9")
	}
}
