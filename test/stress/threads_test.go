//go:build linux

package stress

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

const (
	mib = 1 << 20
	// most is what a tool may take.
	most = 256 * mib
)

// crowd is how many threads this machine lets one test have, 10,000 at most.
func crowd(t *testing.T) int {
	t.Helper()
	n := 10_000
	for _, file := range []string{"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max", "/proc/sys/vm/max_map_count"} {
		var limit int
		if text, err := os.ReadFile(file); err == nil {
			_, _ = fmt.Sscan(string(text), &limit)
			n = min(n, limit/3)
		}
	}
	return n
}

func TestTenThousandThreadsAreAllKnown(t *testing.T) {
	tools.NeedPrivilege(t)
	count := crowd(t)
	w := tools.StartWorkload(t, exec.Command(tools.Path("crowd"), fmt.Sprint(count), "4"))
	w.Until("ready")
	pid := w.PIDText()
	capture := filepath.Join(t.TempDir(), "crowd.wprof")
	r := tools.Start(t, "-d0", "-o", capture)
	w.Send("\n")
	did := parse(t, w.Until("done"))
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	t.Log(strings.TrimSpace(r.Stderr.String()))
	rings := int64(0)
	var opened, closed, switches, unlike int
	begun := map[int32]bool{}
	reader := tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		task := r.Task(e.Task)
		if task == nil || fmt.Sprint(task.Pid) != pid || task.Tid == task.Pid {
			return
		}
		if !strings.HasPrefix(string(task.Comm), "crowd-") || string(task.ProcessComm) != "crowd" {
			unlike++
		}
		switch e.Kind {
		case format.KindStateThread:
			if e.Flags&format.FlagOpen != 0 {
				closed++
			} else if !begun[task.Tid] && e.Time == r.Session().Open {
				begun[task.Tid] = true
				opened++
			}
		case format.KindSwitch:
			switches++
		}
	})
	rings = int64(reader.End().Cost.RingBytes)
	if peak := int64(reader.End().Cost.PeakRss); peak > 256*mib+rings {
		t.Errorf("the recorder took %d MiB beside its rings", (peak-rings)/mib)
	}
	if opened != count || closed != count || unlike > 0 {
		t.Errorf("of %d threads %d have a state at the opening and %d at the close; %d events are under another name", count, opened, closed, unlike)
	}
	if len(lostOf(t, capture)) > 0 {
		t.Fatalf("events were lost: %v", lostOf(t, capture))
	}
	checkSwitches(t, capture, did, pid)
	crowdThroughTools(t, capture, pid, count, switches)
}

// checkSwitches compares the switches of each thread between its two moments with what it counted.
func checkSwitches(t *testing.T, capture string, did [][]int64, pid string) {
	t.Helper()
	type span struct{ n, switches, from, to int64 }
	spans := map[int32]*span{}
	for _, d := range did {
		spans[int32(d[0])] = &span{switches: d[1], from: d[2], to: d[3]}
	}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch {
			return
		}
		if s := spans[r.Task(e.Task).GetTid()]; s != nil && e.Time > s.from && e.Time <= s.to {
			s.n++
		}
	})
	wrong := 0
	for tid, s := range spans {
		if s.n != s.switches {
			if wrong++; wrong < 5 {
				t.Errorf("thread %d was switched away from %d times, the capture has %d", tid, s.switches, s.n)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d threads have other numbers of switches in process %s", wrong, len(spans), pid)
	}
}

func crowdThroughTools(t *testing.T, capture, pid string, count, switches int) {
	t.Helper()
	dir := filepath.Dir(capture)
	kept, trace := filepath.Join(dir, "kept.wprof"), filepath.Join(dir, "kept.pb")
	bounded(t, "wprof-filter -p", tools.Try(t, time.Minute, nil, "wprof-filter", "-p", pid, "-o", kept, capture), most)
	bounded(t, "wprof-perfetto", tools.Try(t, time.Minute, nil, "wprof-perfetto", "-o", trace, kept), most)
	bounded(t, "wprof-info", tools.Try(t, time.Minute, nil, "wprof-info", capture), most)
	bounded(t, "wprof-info --json", tools.Try(t, time.Minute, nil, "wprof-info", "--json", capture), most)
	bounded(t, "wprof-info --check", tools.Try(t, time.Minute, nil, "wprof-info", "--check", kept), most)
	one := tools.Convert(t, filepath.Join(dir, "one.wprof"), "wprof-filter", "--thread-name", "crowd-00042", capture)
	mine := 0
	tools.WalkFile(t, one, func(r *format.Reader, e *format.Event) {
		if e.Kind == format.KindSwitch && string(r.Task(e.Task).GetComm()) == "crowd-00042" {
			mine++
		}
	})
	if mine < 4 {
		t.Errorf("the thread crowd-00042 was kept with %d switches", mine)
	}
	rows := engine.Query(t, trace,
		`select count(*) as n, count(distinct thread.name) as names from thread join process using (upid) where pid = `+pid+` and thread.name glob 'crowd-*'`,
		// The window of each thread is covered by its states.
		`select count(*) as n from (select utid, sum(iif(dur < 0, (select end_ts from trace_bounds) - ts, dur)) as ns from thread_state group by utid) join thread using (utid)
		where thread.name glob 'crowd-*' and ns = (select end_ts - start_ts from trace_bounds)`)
	if n := rows[0][0]; n["n"] != int64(count) || n["names"] != int64(count) {
		t.Errorf("the engine knows %v of %d threads", n, count)
	}
	if n := rows[1][0]["n"]; n != int64(count) {
		t.Errorf("the states of %v of %d threads sum up to the window", n, count)
	}
	engine.CheckStats(t, trace)
	if switches < 4*count {
		t.Errorf("%d switches of %d threads: the test does not test", switches, count)
	}
}

func TestAHundredThousandForksAreAllThere(t *testing.T) {
	tools.NeedPrivilege(t)
	const count = 100_000
	capture := filepath.Join(t.TempDir(), "forks.wprof")
	r := tools.Start(t, "-o", capture, "--", tools.Path("forks"), fmt.Sprint(count))
	if status := r.Wait(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	did := parse(t, strings.Split(strings.TrimSpace(r.Stdout.String()), "\n"))[0]
	t.Log(strings.TrimSpace(r.Stderr.String()))
	parent, forked, ended := int32(did[0]), did[1], did[2]
	if forked != count || ended != count {
		t.Fatalf("the workload made %d processes, of which %d ended as they should", forked, ended)
	}
	type life struct {
		tid   int32
		start int64
	}
	forks, exits, codes := map[life]int{}, 0, map[uint64]int{}
	lost := map[format.Kind]uint64{}
	reader := tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		switch e.Kind {
		case format.KindLost:
			lost[e.Lost().What()] += e.Lost().Count()
		case format.KindFork:
			if r.Task(e.Task).GetTid() == parent {
				child := r.Task(e.Fork().Child())
				forks[life{child.GetTid(), child.GetStart()}]++
			}
		case format.KindExit:
			if who := r.Task(e.Task); forks[life{who.GetTid(), who.GetStart()}] > 0 {
				exits++
				codes[e.Exit().Code()>>8]++
			}
		}
	})
	rings := int64(reader.End().Cost.RingBytes)
	if peak := int64(reader.End().Cost.PeakRss); peak > 256*mib+rings {
		t.Errorf("the recorder took %d MiB beside its rings", (peak-rings)/mib)
	}
	if missing := count - len(forks); missing < 0 || uint64(missing) > lost[format.KindFork] {
		t.Errorf("%d of %d forks are there, and %d are reported as lost", len(forks), count, lost[format.KindFork])
	}
	if missing := count - exits; missing < 0 || uint64(missing) > lost[format.KindExit]+lost[format.KindFork] {
		t.Errorf("%d of %d exits are there, and %d are reported as lost", exits, count, lost[format.KindExit])
	}
	if len(lost) == 0 {
		for code := range uint64(256) {
			if want := (count + 255 - int(code)) / 256; codes[code] != want {
				t.Errorf("%d processes ended with %d, want %d", codes[code], code, want)
				break
			}
		}
	}
	forksThroughTools(t, capture, fmt.Sprint(parent))
}

// forksThroughTools takes the outputs that remember most of threads that have ended; test/length has all.
func forksThroughTools(t *testing.T, capture, pid string) {
	t.Helper()
	dir := filepath.Dir(capture)
	for _, one := range []struct {
		tool string
		args []string
	}{
		{"wprof-info", []string{"--check"}},
		{"wprof-filter", []string{"-p", pid, "--children", "-o", filepath.Join(dir, "family")}},
		{"wprof-perfetto", []string{"-o", filepath.Join(dir, "forks.pb")}},
		{"wprof-flame", []string{"--html", "-o", filepath.Join(dir, "page.html")}},
		{"wprof-json", []string{"--chrome", "-o", filepath.Join(dir, "chrome.json")}},
		{"wprof-json", []string{"--parquet", filepath.Join(dir, "columns")}},
	} {
		bounded(t, fmt.Sprint(one.tool, one.args), tools.Try(t, 2*time.Minute, nil, one.tool, append(one.args, capture)...), most)
	}
	family := tools.WalkFile(t, filepath.Join(dir, "family"), func(*format.Reader, *format.Event) {})
	for _, k := range family.End().Kinds {
		if format.Kind(k.Kind) == format.KindFork && k.Events < 99_000 {
			t.Errorf("--children keeps %d forks", k.Events)
		}
	}
}
