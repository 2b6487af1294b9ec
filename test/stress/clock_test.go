package stress

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/engine"
	"wprof/test/tools"
)

const (
	openAt   = time.Second      // CLOCK_MONOTONIC at the opening
	bootLead = 4 * time.Second  // CLOCK_BOOTTIME - CLOCK_MONOTONIC then
	wallOpen = 1_700_000_000e9  // the wall clock then, ns
	jumpAt   = 5 * time.Second  // after the opening, as far as a reading of the clocks shows
	closeAt  = 10 * time.Second // after the opening
)

// jumped writes a stream of ten seconds, in which a thread runs in the second and in the ninth one. In the middle the
// machine is suspended for boot, and the wall clock is set forward by set.
func jumped(t *testing.T, boot, set time.Duration) string {
	t.Helper()
	reading := func(at, boot, set time.Duration) string {
		return fmt.Sprintf("clock monotonic=%d boottime=%d realtime=%d", openAt+at, openAt+bootLead+at+boot, int64(wallOpen)+int64(at+boot+set))
	}
	text := strings.Join([]string{
		fmt.Sprintf(`section id=0x1 host="box" boot_id="b" kernel_release="6.18.0" open=%d close=+10s`, openAt),
		"  cpu 0", "  " + reading(0, 0, 0),
		`task 1 comm="swapper" process_comm="swapper" flags=idle`,
		`task 2 tid=100 pid=100 ppid=1 comm="work" process_comm="work" start=5`,
		"+0 cpu0 state_cpu 1 prio=120",
		"+0 cpu0 state_thread 2 state=S prio=120",
		"+1s cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120",
		"+2s cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120",
		"block definitions", reading(jumpAt, boot, set),
		"+8s cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+2s next_state=S",
		"+9s cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120",
		"+10s cpu0 state_cpu 1 prio=120 open",
		"end close=+10s", "  " + reading(closeAt, boot, set), "",
	}, "\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "c.txt")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file := tools.Convert(t, filepath.Join(dir, "c.wprof"), "wprof-info", "--undump", source)
	tools.Run(t, "wprof-info", "--check", file)
	return file
}

// TestClocksJump: times of events go by CLOCK_MONOTONIC, whatever happens to the other clocks in the window. Where the
// machine is suspended and where the wall clock is set, wprof-info says so, Perfetto's clocks are right before and after, and
// filters find the requested times.
func TestClocksJump(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		boot, set time.Duration
		says      string
	}{
		{"nothing", 0, 0, ""},
		{"suspended", time.Hour, 0, "suspended   1h0m0s"},
		{"set forward", 0, time.Hour, "clock set   1h0m0s forward"},
		{"set back", 0, -time.Hour, "clock set   1h0m0s back"},
		{"both", time.Hour, -time.Minute, "clock set   1m0s back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := jumped(t, c.boot, c.set)
			checkJumps(t, file, c.boot, c.set, c.says)
			checkMoments(t, file, c.boot, c.set)
			checkRange(t, file)
			named := tools.Convert(t, file+".named", "wprof-symbolize", file)
			checkJumps(t, named, c.boot, c.set, c.says)
			checkMoments(t, named, c.boot, c.set)
		})
	}
}

func checkJumps(t *testing.T, file string, boot, set time.Duration, says string) {
	t.Helper()
	text := string(tools.Run(t, "wprof-info", file))
	if !strings.Contains(text, says) || says == "" && (strings.Contains(text, "\nsuspended ") || strings.Contains(text, "\nclock set ")) {
		t.Errorf("wprof-info does not say %q, or more: %s", says, text)
	}
	var report struct {
		Recordings []struct {
			Start       time.Time
			DurationNs  time.Duration `json:"duration_ns"`
			SuspendedNs time.Duration `json:"suspended_ns"`
			ClockSetNs  time.Duration `json:"clock_set_ns"`
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &report); err != nil {
		t.Fatal(err)
	}
	r := report.Recordings[0]
	if r.Start.UnixNano() != wallOpen || r.DurationNs != closeAt || r.SuspendedNs != boot || r.ClockSetNs != set {
		t.Errorf("it reports %+v, want a start at %d, %v long, %v suspended, set by %v", r, int64(wallOpen), closeAt, boot, set)
	}
}

// checkMoments queries in Perfetto when the thread ran, by its own clock and by the wall's.
func checkMoments(t *testing.T, file string, boot, set time.Duration) {
	t.Helper()
	trace := tools.Convert(t, file+".pb", "wprof-perfetto", file)
	engine.CheckStats(t, trace)
	rows := engine.Query(t, trace, `select ts, dur, to_realtime(ts) as wall from sched join thread using (utid) where tid = 100 order by ts`)[0]
	if len(rows) != 2 {
		t.Fatalf("the thread runs %d times in the trace, want 2: %v", len(rows), rows)
	}
	if set < 0 && -set > jumpAt+boot {
		set = 0 // the engine does not support a clock that goes back: in the trace it runs on
	}
	for i, want := range []struct{ boot, wall time.Duration }{
		{openAt + bootLead + time.Second, time.Second},
		{openAt + bootLead + 8*time.Second + boot, 8*time.Second + boot + set},
	} {
		if r := rows[i]; r["ts"] != int64(want.boot) || r["dur"] != int64(time.Second) || r["wall"] != int64(wallOpen)+int64(want.wall) {
			t.Errorf("run %d: %v, want ts %d and wall %d", i, r, int64(want.boot), int64(wallOpen)+int64(want.wall))
		}
	}
}

// checkRange cuts out the first run by the wall clock, and the second one by its distance from the opening.
func checkRange(t *testing.T, file string) {
	t.Helper()
	moment := func(at time.Duration) string {
		return "@" + time.Unix(0, int64(wallOpen)+int64(at)).UTC().Format(time.RFC3339Nano)
	}
	for _, c := range []struct{ args, has []string }{
		{[]string{"--start", moment(500 * time.Millisecond), "--end", moment(3 * time.Second)}, []string{"+1.000000000 cpu0 switch 1", "+2.000000000 cpu0 switch 2"}},
		{[]string{"--start", "7s", "--end", "9.5s"}, []string{"+8.000000000 cpu0 switch 1", "+9.000000000 cpu0 switch 2"}},
	} {
		part := tools.Convert(t, filepath.Join(t.TempDir(), "part.wprof"), "wprof-filter", append(c.args, file)...)
		tools.Run(t, "wprof-info", "--check", part)
		dump := string(tools.Run(t, "wprof-info", "--dump", part))
		if strings.Count(dump, " switch ") != 2 || !strings.Contains(dump, c.has[0]) || !strings.Contains(dump, c.has[1]) {
			t.Errorf("wprof-filter %v keeps %s", c.args, dump)
		}
	}
}

// TestClockSetInTheWindow sets this machine's clock forward by 50 ms while it records, and back at once. The times of
// threads that sleep meanwhile are not affected.
func TestClockSetInTheWindow(t *testing.T) {
	tools.NeedPrivilege(t)
	const step = 50 * time.Millisecond
	set := false
	file := tools.Record(t, filepath.Join(t.TempDir(), "c.wprof"), []string{"--no-stacks"}, func() {
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			set = stepClock(step) == nil
		}
	})
	if !set {
		t.Log("this machine does not let its clock be set; what is simulated is tested")
	}
	tools.Run(t, "wprof-info", "--check", file)
	var report struct {
		Recordings []struct {
			SuspendedNs int64 `json:"suspended_ns"`
			Late        uint64
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &report); err != nil {
		t.Fatal(err)
	}
	if r := report.Recordings[0]; r.SuspendedNs != 0 || r.Late != 0 {
		t.Errorf("it reports %+v", r)
	}
	trace := tools.Convert(t, file+".pb", "wprof-perfetto", file)
	engine.CheckStats(t, trace)
}

// stepClock sets the wall clock forward and takes that back within microseconds.
func stepClock(by time.Duration) error {
	step := func(by time.Duration) error {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			return err
		}
		to := unix.NsecToTimespec(now.Nano() + int64(by))
		return unix.ClockSettime(unix.CLOCK_REALTIME, &to)
	}
	if err := step(by); err != nil {
		return err
	}
	return step(-by)
}
