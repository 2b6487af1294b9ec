//go:build linux

package chrome

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/chrome"
	"wprof/test/engine"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

// traces are the traces of a real capture of a busy machine.
type traces struct {
	capture, perfetto, json string
	done                    chrome.Result
}

func record(t *testing.T) traces {
	t.Helper()
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	capture := tools.Record(t, filepath.Join(dir, "busy.wprof"), []string{"-S"}, func() { work(t) })
	all := traces{capture: capture, json: filepath.Join(dir, "busy.json")}
	all.perfetto = tools.Convert(t, filepath.Join(dir, "busy.pb"), "wprof-perfetto", "-e", "arrows,sleepers", "--blocked-min", "0", capture)
	all.done = convert(t, capture, all.json)
	return all
}

func convert(t *testing.T, capture, to string) chrome.Result {
	t.Helper()
	in, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := format.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	done, err := chrome.Write(r, out, chrome.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// work is pipes that make shells, short programs, and two threads that wake each other.
func work(t *testing.T) {
	t.Helper()
	played := make(chan error)
	go func() { played <- pingPong(4000) }()
	for range 40 {
		if err := exec.Command("sh", "-c", "ls / | cat | wc -l; (sleep 0.002); true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-played; err != nil {
		t.Fatal(err)
	}
}

func pingPong(rounds int) error {
	there, hit, err := os.Pipe()
	if err != nil {
		return err
	}
	back, answer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range []*os.File{there, hit, back, answer} {
			f.Close()
		}
	}()
	go func() {
		runtime.LockOSThread()
		ball := make([]byte, 1)
		for range rounds {
			_, _ = there.Read(ball)
			_, _ = answer.Write(ball)
		}
	}()
	runtime.LockOSThread()
	ball := make([]byte, 1)
	for range rounds {
		if _, err := hit.Write(ball); err != nil {
			return err
		}
		if _, err := back.Read(ball); err != nil {
			return err
		}
	}
	return nil
}

// unsure are threads that have a state in Perfetto that no event reported: Perfetto has to end a run somewhere.
const unsure = `(select tid from thread_state join thread using (utid) where state is null)`

// found is what the engine has of a trace.
type found struct{ ran, flows, names, marks, rows []engine.Row }

// find asks for everything at once: the engine holds one trace at a time, and loading it takes far longer than a query.
func find(t *testing.T, trace, ran, flows, marks, rows string) found {
	t.Helper()
	all := engine.Query(t, trace, ran, flows,
		`select tid, group_concat(thread.name) as name, count(*) as times from thread where tid between 1 and 4194304 group by tid`,
		`select slice.name, count(*) as n from slice where `+marks+` group by 1`, rows)
	return found{all[0], all[1], all[2], all[3], all[4]}
}

// rowsOf selects slices by thread and name.
func rowsOf(name, of string) string {
	return `select tid || ' ' || ` + name + ` as name, count(*) as n, sum(slice.dur) as dur from slice
		join thread_track on track_id = thread_track.id join thread using (utid) where ` + of + ` group by 1`
}

// Perfetto's engine loads the JSON without an error, and has the same in it as in wprof-perfetto's trace: for each
// thread the same time on CPUs, to the nanosecond, the same name, and the same number of arrows.
func TestEngineFindsTheSameAsInItsOwnFormat(t *testing.T) {
	t.Parallel()
	all := record(t)
	engine.CheckCounts(t, all.json)
	flows := `select count(*) as n from flow join slice on slice.id = slice_in where slice.name not like 'forked by %'` // only Perfetto's has these
	got := find(t, all.json, `select tid, sum(dur) as n from slice join thread_track on track_id = thread_track.id
		join thread using (utid) where slice.name = 'Running' group by tid`, flows,
		`category in ('wakes', 'preempts', 'life')`, rowsOf(`slice.name`, `category = 'thread' and slice.name not like 'Runnable%'`))
	missed := `select slice.name, count(*) from flow join slice on slice.id = slice_in where slice.name != 'Running' group by 1`
	if rows := engine.Query(t, all.json, missed)[0]; len(rows) > 0 {
		t.Errorf("arrows end at other slices than those of running: %v", rows)
	}
	want := find(t, all.perfetto, `select tid, sum(dur) as n from sched join thread using (utid)
		where tid between 1 and 4194304 and dur > 0 and tid not in `+unsure+` group by tid`, flows,
		`dur = 0 and slice.name not like 'forked by %' and slice.name not like 'woken by %'`,
		rowsOf(`iif(slice.name like 'on CPU %', 'Running', replace(slice.name, ' (open)', ''))`, `slice.dur > 0`))
	compareTimes(t, got.ran, want.ran)
	if got, want := got.flows[0]["n"], want.flows[0]["n"].(int64); got != want || want < 4000 {
		t.Errorf("the JSON has %d arrows, Perfetto's format %d", got, want)
	}
	compareNames(t, &got, &want)
	compareMarks(t, got.marks, want.marks)
	compareRows(t, got.rows, want.rows)
}

// byTID is a number for each thread.
func byTID(rows []engine.Row) map[int64]int64 {
	all := make(map[int64]int64)
	for _, row := range rows {
		all[row["tid"].(int64)] = row["n"].(int64)
	}
	return all
}

func compareTimes(t *testing.T, json, perfetto []engine.Row) {
	t.Helper()
	got, want := byTID(json), byTID(perfetto)
	if len(want) < 100 {
		t.Errorf("only %d threads have run", len(want))
	}
	for tid, ran := range want {
		if got[tid] != ran {
			t.Errorf("thread %d has run for %d ns in the JSON, in Perfetto's format for %d", tid, got[tid], ran)
		}
	}
}

// compareRows compares what each thread does with the thread view of Perfetto's format, also of threads of which switches
// are missing: the same slices, by name.
func compareRows(t *testing.T, json, perfetto []engine.Row) {
	t.Helper()
	type slices struct{ number, length int64 }
	byName := func(rows []engine.Row) map[string]slices {
		all := make(map[string]slices)
		for _, row := range rows {
			all[printable(row["name"].(string))] = slices{row["n"].(int64), row["dur"].(int64)}
		}
		return all
	}
	got, want := byName(json), byName(perfetto)
	for name, w := range want {
		if got[name] != w {
			t.Errorf("thread and slice %s: the JSON has %+v, Perfetto's format %+v", name, got[name], w)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the JSON has slices that Perfetto's format has not: %v", got)
	}
}

// compareMarks counts marks by name: a name is that of the moment, also of a thread that is renamed soon after.
func compareMarks(t *testing.T, json, perfetto []engine.Row) {
	t.Helper()
	byName := func(rows []engine.Row) map[string]int64 {
		counts := make(map[string]int64)
		for _, row := range rows {
			counts[printable(row["name"].(string))] += row["n"].(int64)
		}
		return counts
	}
	got, want := byName(json), byName(perfetto)
	for name := range maps.Keys(want) {
		if got[name] != want[name] {
			t.Errorf("the JSON has %d marks %q, Perfetto's format %d", got[name], name, want[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the JSON has marks that Perfetto's format has not: %v", got)
	}
	if want["wakes sh"] < 40 || want["exec: /bin/sh"]+want["exec: /usr/bin/sh"] < 40 {
		t.Errorf("hardly a shell was seen: %v", want)
	}
}

func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, name)
}

// compareNames leaves out tids that two threads had: Perfetto distinguishes them.
func compareNames(t *testing.T, json, perfetto *found) {
	t.Helper()
	ours, runs := make(map[int64]string), byTID(perfetto.ran)
	for _, row := range json.names {
		ours[row["tid"].(int64)], _ = row["name"].(string)
	}
	compared := 0
	for _, row := range perfetto.names {
		tid := row["tid"].(int64)
		if _, runs := runs[tid]; !runs || row["times"].(int64) != 1 {
			continue
		}
		compared++
		if ours[tid] != row["name"] {
			t.Errorf("thread %d is %q in the JSON, %q in Perfetto's format", tid, ours[tid], row["name"])
		}
	}
	if compared < 100 {
		t.Errorf("only %d names were compared", compared)
	}
}

// What any program reads in the JSON is what the stream has: all samples, forks, and so on, of threads that are known.
func TestEveryInstantIsThere(t *testing.T) {
	t.Parallel()
	all := record(t)
	want := make(map[string]int)
	events := int64(0)
	tools.WalkFile(t, all.capture, func(r *format.Reader, e *format.Event) {
		events++
		name, drawn := map[format.Kind]string{
			format.KindSample: "sample", format.KindFork: "fork", format.KindExec: "exec", format.KindRename: "rename", format.KindExit: "exit",
		}[e.Kind]
		if drawn && !r.Task(e.Task).IsLost() {
			want[name]++
		}
	})
	text, err := os.ReadFile(all.json)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Phase    string `json:"ph"`
			Category string `json:"cat"`
			Name     string `json:"name"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, e := range trace.TraceEvents {
		if e.Phase == "i" && (e.Category == "life" || e.Category == "sample") {
			got[kindOf(e.Name)]++
		}
	}
	if !maps.Equal(got, want) || all.done.Events != events || all.done.Lost {
		t.Errorf("the JSON has %v of %+v, the stream %v of %d events", got, all.done, want, events)
	}
	if all.done.Bytes != int64(len(text)) {
		t.Errorf("%d bytes were reported, %d written", all.done.Bytes, len(text))
	}
}

func kindOf(name string) string {
	for i := range len(name) {
		if name[i] == ':' {
			return name[:i]
		}
	}
	return name
}
