//go:build linux

package stress

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// hostile are names that a program can give to its threads: up to 15 bytes that are not 0.
func hostile() []string {
	return []string{
		"two\nlines", `"quoted"`, `it's`, `back\slash`, `\n\x41\`, "\xff\xfe\x80bad", strings.Repeat("\xff", 15),
		"\x1b[31mred\x1b[0m", "", "   ", "]]>", "%s%n%d", "tab\there", "$(x)`y`", "\x01\x7f", "@file", "a,b", "-p",
		"\r", "#comment", "cut\xe2\x80", "\u202ertl", "task 1 tid=1", "+0 lost", "{{", "\xc2\x9b31mC1",
	}
}

// namedThreads records threads with these names; tids are theirs.
func namedThreads(t *testing.T, program string, names []string) (capture string, pid int, tids []int32) {
	t.Helper()
	w := tools.StartWorkload(t, &exec.Cmd{Path: program, Args: []string{program, "an\nargument", "\xff", "\x1b[2J", ""}})
	for _, name := range names {
		if name == "" {
			w.Send("-\n")
		} else {
			w.Send(hex.EncodeToString([]byte(name)) + "\n")
		}
	}
	w.Send("\n")
	for _, line := range parse(t, w.Until("ready")) {
		tids = append(tids, int32(line[0]))
	}
	capture = tools.Record(t, filepath.Join(t.TempDir(), "names.wprof"), []string{"-M", "note=\x1b[31m\n\xff"}, func() {
		w.Send("\n")
		w.Until("done")
	})
	return capture, w.PID(), tids
}

// comms are the names of each thread's switches.
func comms(t *testing.T, capture string) map[int32]map[string]int {
	t.Helper()
	all := map[int32]map[string]int{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch || e.Flags&format.FlagSubject == 0 {
			return
		}
		task := r.Task(e.Task)
		if all[task.GetTid()] == nil {
			all[task.GetTid()] = map[string]int{}
		}
		all[task.GetTid()][string(task.GetComm())]++
	})
	return all
}

// printable fails the test if a text would do something to a terminal other than write on it.
func printable(t *testing.T, what string, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		t.Errorf("%s prints what is not UTF-8: %q", what, text)
	}
	for _, r := range string(text) {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%s prints %q raw: %q", what, r, text)
			return
		}
	}
}

func TestHostileNamesOfThreadsGoThroughEveryTool(t *testing.T) {
	tools.NeedPrivilege(t)
	names := hostile()
	capture, pid, tids := namedThreads(t, tools.Path("named"), names)
	dir := filepath.Dir(capture)
	all := comms(t, capture)
	for i, name := range names {
		if n := all[tids[i]]; len(n) != 1 || n[name] < 5 {
			t.Errorf("thread %d, called %q, has switches as %v", tids[i], name, n)
		}
	}
	for i, name := range names {
		pattern := name
		if name == "" {
			if got := tools.Try(t, time.Minute, nil, "wprof-filter", "--thread-name=", capture); got.Status != 2 {
				t.Errorf("--thread-name= ends with status %d: %s", got.Status, got.Stderr)
			}
			continue
		}
		if strings.HasPrefix(name, "@") {
			pattern = "?" + name[1:] // else it is a file of names
		}
		kept := tools.Convert(t, filepath.Join(dir, "one"), "wprof-filter", "-p", fmt.Sprint(pid), "--thread-name="+pattern, capture)
		got := comms(t, kept)
		if got[tids[i]][name] != all[tids[i]][name] {
			t.Errorf("--thread-name=%q keeps %v switches of the thread, want %v", pattern, got[tids[i]], all[tids[i]])
		}
		if len(got) != 1 {
			t.Errorf("--thread-name=%q keeps %v", pattern, got)
		}
	}
	mine := tools.Convert(t, filepath.Join(dir, "mine"), "wprof-filter", "-p", fmt.Sprint(pid), capture)
	drawnNames(t, mine, names, tids)
	readable(t, mine)
	textAndBack(t, mine)
}

// drawnNames compares the engine's names with the threads'. What is not UTF-8 cannot stand there as it is.
func drawnNames(t *testing.T, capture string, names []string, tids []int32) {
	t.Helper()
	trace := tools.Convert(t, capture+".pb", "wprof-perfetto", "-e", "sched-extras,tidpid", capture)
	engine.CheckStats(t, trace)
	got := map[int64]any{}
	for _, row := range engine.Query(t, trace, `select tid, name from thread`)[0] {
		got[row["tid"].(int64)] = row["name"]
	}
	for i, name := range names {
		if shown, _ := got[int64(tids[i])].(string); shown != shownAs(name) {
			t.Errorf("the thread %q is called %q in the trace, want %q", name, shown, shownAs(name))
		}
	}
}

// shownAs is a name with U+FFFD for each byte that is not UTF-8 and for what cannot be printed.
func shownAs(name string) string {
	if name == "" {
		return "(unknown)"
	}
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// readable checks that terminals and parsers can read the output of wprof-info.
func readable(t *testing.T, capture string) {
	t.Helper()
	printable(t, "wprof-info", tools.Run(t, "wprof-info", capture))
	printable(t, "wprof-info --check", tools.Run(t, "wprof-info", "--check", capture))
	text := tools.Run(t, "wprof-info", "--json", capture)
	if !json.Valid(text) || !utf8.Valid(text) {
		t.Errorf("wprof-info --json is no JSON: %q", text)
	}
	for _, parser := range [][]string{{"jq", "-e", ".recordings[0].events"}, {"python3", "-c", "import json,sys; json.load(sys.stdin)"}} {
		if _, err := exec.LookPath(parser[0]); err != nil {
			continue
		}
		cmd := exec.Command(parser[0], parser[1:]...)
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s does not take wprof-info --json: %v: %s", parser[0], err, out)
		}
	}
}

// textAndBack dumps a capture, makes a capture of the text, and compares the two.
func textAndBack(t *testing.T, capture string) {
	t.Helper()
	plain := tools.Convert(t, capture+".plain", "wprof-filter", "-z0", capture)
	text := tools.Run(t, "wprof-info", "--dump", plain)
	for line := range bytes.Lines(text) {
		printable(t, "wprof-info --dump", line)
	}
	file := capture + ".txt"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	back := tools.Convert(t, capture+".back", "wprof-info", "--undump", file)
	if again := tools.Run(t, "wprof-info", "--dump", back); !bytes.Equal(again, text) {
		t.Error("the text of what the text makes is another one")
	}
	a, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("the capture has %d bytes, and %d after it was text; they differ at %d", len(a), len(b), firstDifference(a, b))
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestHostileNamesOfProgramsGoThroughEveryTool(t *testing.T) {
	tools.NeedPrivilege(t)
	program, err := os.ReadFile(tools.Path("named"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"two\nlines", "\xff\xfe\x80bad", "\x1b[31mred\x1b[0m", "   ", `"q"\'x`, "]]>%s", "@x,y"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, program, 0o700); err != nil {
				t.Fatal(err)
			}
			capture, pid, _ := namedThreads(t, path, []string{"plain"})
			pattern := strings.Replace(name, "@", "?", 1)
			mine := tools.Convert(t, capture+".mine", "wprof-filter", "-n", pattern, capture)
			seen := 0
			tools.WalkFile(t, mine, func(r *format.Reader, e *format.Event) {
				if task := r.Task(e.Task); task.GetPid() == int32(pid) && e.Kind == format.KindSwitch && e.Flags&format.FlagSubject != 0 {
					seen++
					want := "an\nargument\x00\xff\x00\x1b[2J\x00\x00"
					if string(task.ProcessComm) != name[:min(len(name), 15)] || task.Command == 0 || !bytes.HasSuffix(r.Command(task.Command).Args, []byte(want)) {
						t.Fatalf("the process is %q, its command %v", task.ProcessComm, r.Command(task.Command))
					}
				}
			})
			if seen < 5 {
				t.Errorf("-n %q keeps %d switches", pattern, seen)
			}
			trace := tools.Convert(t, mine+".pb", "wprof-perfetto", mine)
			engine.CheckStats(t, trace)
			row := engine.Query(t, trace, fmt.Sprintf(`select name, cmdline from process where pid = %d`, pid))[0][0]
			for _, column := range []string{"name", "cmdline"} {
				if shown, _ := row[column].(string); shown == "" || !utf8.ValidString(shown) {
					t.Errorf("the %s of the process is %q in the trace", column, row[column])
				}
			}
			if shown, _ := row["cmdline"].(string); !strings.Contains(shown, shownAs(name)) {
				t.Errorf("the process %q has the command line %q in the trace", name, shown)
			}
			readable(t, mine)
			textAndBack(t, mine)
		})
	}
}

func TestTenThousandNamesInOrder(t *testing.T) {
	tools.NeedPrivilege(t)
	const count = 10_000
	capture := filepath.Join(t.TempDir(), "renames.wprof")
	r := tools.Start(t, "-o", capture, "--", tools.Path("renames"), fmt.Sprint(count))
	if status := r.Wait(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	tid := int32(parse(t, strings.Fields(r.Stdout.String()))[0][0])
	next, ran := 0, map[string]int{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		task := r.Task(e.Task)
		if task.GetTid() != tid {
			return
		}
		now := string(task.Comm)
		switch {
		case e.Kind == format.KindRename:
			prev := string(r.Task(e.Rename().Prev()).Comm)
			if now != fmt.Sprintf("n%06d", next) || next > 0 && prev != fmt.Sprintf("n%06d", next-1) {
				t.Fatalf("rename %d is from %q to %q", next, prev, now)
			}
			next++
		case next > 0 && (e.Kind == format.KindSwitch || e.Kind == format.KindSample) && now != fmt.Sprintf("n%06d", next-1):
			t.Fatalf("after rename %d the thread is called %q", next-1, now)
		case e.Kind == format.KindSwitch:
			ran[now]++
		}
	})
	if lost := lostOf(t, capture); next != count && lost[format.KindRename] == 0 {
		t.Fatalf("%d of %d renames are there, and %v lost", next, count, lost)
	}
	for i := 0; i < count; i += 100 {
		if ran[fmt.Sprintf("n%06d", i)] == 0 {
			t.Fatalf("under the name %d the thread was never switched away from", i)
		}
	}
	renamesThroughTools(t, capture, tid, count)
}

func renamesThroughTools(t *testing.T, capture string, tid int32, count int) {
	t.Helper()
	dir := filepath.Dir(capture)
	kept := tools.Convert(t, filepath.Join(dir, "kept"), "wprof-filter", "--thread-name", "n005*", capture)
	seen := comms(t, kept)[tid]
	for name := range seen {
		if !strings.HasPrefix(name, "n005") {
			t.Errorf("--thread-name n005* keeps %d switches as %s", seen[name], name)
		}
	}
	if len(seen) < 10 {
		t.Errorf("--thread-name n005* keeps %v", seen)
	}
	trace := filepath.Join(dir, "all.pb")
	bounded(t, "wprof-perfetto", tools.Try(t, time.Minute, nil, "wprof-perfetto", "-o", trace, capture), most)
	engine.CheckStats(t, trace)
	var got []string
	for _, row := range engine.Query(t, trace, fmt.Sprintf(`select extract_arg(arg_set_id, 'newcomm') as name from ftrace_event
		join thread using (utid) where ftrace_event.name = 'task_rename' and tid = %d order by ts, ftrace_event.id`, tid))[0] {
		name, _ := row["name"].(string)
		got = append(got, name)
	}
	if len(got) != count || !slices.IsSorted(got) || got[0] != "n000000" || got[count-1] != fmt.Sprintf("n%06d", count-1) {
		t.Errorf("the trace has %d renames, in order: %v", len(got), slices.IsSorted(got))
	}
}

func TestThreadsOfOneIDAreDistinguished(t *testing.T) {
	tools.NeedPrivilege(t)
	if _, err := os.Stat("/proc/sys/kernel/ns_last_pid"); err != nil {
		t.Skipf("ids cannot be chosen: %v", err)
	}
	capture := filepath.Join(t.TempDir(), "reuse.wprof")
	r := tools.Start(t, "-o", capture, "--", tools.Path("reuse"), "5")
	if status := r.Wait(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	pairs := parse(t, strings.Split(strings.TrimSpace(r.Stdout.String()), "\n"))
	if len(pairs) < 5 {
		t.Fatalf("only %d pairs of threads had one id", len(pairs))
	}
	trace := tools.Convert(t, capture+".pb", "wprof-perfetto", capture)
	engine.CheckStats(t, trace)
	for _, p := range pairs {
		tid := int32(p[0])
		for name, naps := range map[string]int{"first-life": int(p[1]), "second-life": 2 * int(p[1])} {
			checkLife(t, capture, trace, tid, name, naps)
		}
	}
}

// checkLife looks for one of two threads with the same id: one start time, a fork, an exit, and its own naps.
func checkLife(t *testing.T, capture, trace string, tid int32, name string, naps int) {
	t.Helper()
	kept := tools.Convert(t, filepath.Join(filepath.Dir(capture), "life"), "wprof-filter", "--tid", fmt.Sprint(tid), "--thread-name", name, capture)
	starts, kinds, slept := map[int64]bool{}, map[format.Kind]int{}, 0
	tools.WalkFile(t, kept, func(r *format.Reader, e *format.Event) {
		task := r.Task(e.Task)
		if task.GetTid() != tid || e.Flags&format.FlagSubject == 0 {
			return
		}
		starts[task.Start] = true
		kinds[e.Kind]++
		if string(task.Comm) != name {
			t.Errorf("--thread-name %s keeps an event of %s", name, task.Comm)
		}
		if e.Kind == format.KindSwitch && e.Switch().PrevState()&format.StateInterruptible != 0 {
			slept++
		}
	})
	if len(starts) != 1 || kinds[format.KindExit] != 1 || kinds[format.KindRename] != 1 || slept != naps {
		t.Errorf("%s of thread %d: %d start times, %v events, %d naps, want %d", name, tid, len(starts), kinds, slept, naps)
	}
	rows := engine.Query(t, trace, fmt.Sprintf(`select utid, (select count(*) from thread_state s where s.utid = thread.utid and state = 'S' and dur > 900000) as naps,
		end_ts is not null as ended from thread where tid = %d and name = '%s'`, tid, name))[0]
	// The kernel may forget the second one when the window has closed.
	if len(rows) != 1 || rows[0]["naps"] != int64(naps) || name == "first-life" && rows[0]["ended"] != int64(1) {
		t.Errorf("%s of thread %d in the trace: %v, want one thread with %d naps", name, tid, rows, naps)
	}
}
