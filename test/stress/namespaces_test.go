package stress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/engine"
	"wprof/test/tools"
)

// called has the ids of a thread outside of its PID namespace and inside.
type called struct {
	name                     string
	tid, pid, ownTID, ownPID int
}

// nest runs processes in PID namespaces, levels deep, until release is called, and returns the ids that they print.
func nest(t *testing.T, levels int, name string) (threads []called, release func()) {
	t.Helper()
	cmd := exec.Command(tools.Path("nested"), strconv.Itoa(levels), name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := false
	release = func() {
		if !done {
			done = true
			in.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(release)
	// Each level and the thread of the deepest one say a line, the deepest another one.
	s := bufio.NewScanner(out)
	for range levels + 3 {
		if !s.Scan() {
			t.Fatalf("the nested processes ended: %v", s.Err())
		}
		var c called
		if s.Text() == "deepest" {
			continue
		}
		if _, err := fmt.Sscanf(s.Text(), "%s %d %d %d %d", &c.name, &c.tid, &c.pid, &c.ownTID, &c.ownPID); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		threads = append(threads, c)
	}
	return threads, release
}

// TestContainersKnowThreadsByOtherIDs records processes in nested PID namespaces: those that were there before, and those that
// fork, exec and are renamed meanwhile. Every tool shows both ids, the machine's and the container's.
func TestContainersKnowThreadsByOtherIDs(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	before, releaseBefore := nest(t, 2, "old")
	var during []called
	file := tools.Record(t, filepath.Join(t.TempDir(), "c.wprof"), nil, func() {
		var release func()
		during, release = nest(t, 3, "new")
		time.Sleep(200 * time.Millisecond)
		release()
		releaseBefore()
	})
	tasks := tasksOf(t, tools.Run(t, "wprof-info", "--dump", file))
	for _, c := range append(before, during...) {
		var seen []string
		for _, d := range tasks {
			if d["tid"] == strconv.Itoa(c.tid) && d["comm"] == c.name {
				seen = append(seen, strings.Join([]string{d["pid"], d["ns_tid"], d["ns_pid"]}, " "))
			}
		}
		want := fmt.Sprintf("%d %d %d", c.pid, c.ownTID, c.ownPID)
		if c.tid == c.ownTID {
			want = fmt.Sprintf("%d  ", c.pid) // it is in the first namespace
		}
		if len(seen) == 0 {
			t.Errorf("thread %v has no definition", c)
		}
		for _, got := range seen {
			if got != want {
				t.Errorf("thread %v is defined as %q, want %q", c, got, want)
			}
		}
	}
	checkReport(t, file, during)
	checkTrace(t, file, during)

	// A filter compares the machine's id, and keeps the container's in its output.
	deepest := during[len(during)-1]
	kept := tools.Convert(t, filepath.Join(t.TempDir(), "kept.wprof"), "wprof-filter", "-p", strconv.Itoa(deepest.pid), file)
	checkReport(t, kept, during[len(during)-1:])
}

// tasksOf are the fields of all task definitions of a dump.
func tasksOf(t *testing.T, dump []byte) (tasks []map[string]string) {
	t.Helper()
	for line := range bytes.Lines(dump) {
		words := strings.Fields(string(line))
		if len(words) == 0 || words[0] != "task" {
			continue
		}
		fields := map[string]string{}
		for _, w := range words {
			name, value, _ := strings.Cut(w, "=")
			fields[name] = strings.Trim(value, `"`)
		}
		tasks = append(tasks, fields)
	}
	return tasks
}

func checkReport(t *testing.T, file string, of []called) {
	t.Helper()
	var report struct {
		Recordings []struct {
			Processes []struct {
				PID   int  `json:"pid"`
				NSPID *int `json:"ns_pid"`
			}
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &report); err != nil {
		t.Fatal(err)
	}
	for _, c := range of {
		found := false
		for _, p := range report.Recordings[0].Processes {
			if p.PID != c.pid {
				continue
			}
			found = true
			switch {
			case c.pid == c.ownPID && p.NSPID != nil:
				t.Errorf("%s: process %d has the id %d in its namespace, but it is in the first one", file, c.pid, *p.NSPID)
			case c.pid != c.ownPID && (p.NSPID == nil || *p.NSPID != c.ownPID):
				t.Errorf("%s: process %d has the id %v in its namespace, want %d", file, c.pid, p.NSPID, c.ownPID)
			}
		}
		if !found {
			t.Errorf("%s: process %d is not in the report", file, c.pid)
		}
	}
}

func checkTrace(t *testing.T, file string, of []called) {
	t.Helper()
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "t.pb"), "wprof-perfetto", "-e", "tidpid", file)
	engine.CheckStats(t, trace)
	rows := engine.Query(t, trace, `select distinct a.int_value as tid, b.int_value as ns from args a join args b using (arg_set_id)
		where a.key = 'debug.tid' and b.key = 'debug.ns_tid'`)[0]
	for _, c := range of {
		found := c.tid == c.ownTID
		for _, r := range rows {
			if r["tid"] == int64(c.tid) {
				found = r["ns"] == int64(c.ownTID)
			}
		}
		if !found {
			t.Errorf("the trace does not show that thread %d is %d in its namespace", c.tid, c.ownTID)
		}
	}
}

// TestRecordingInsideANamespace records from a PID namespace: everything works that does not choose by process id, and
// the ids in the capture are the machine's.
func TestRecordingInsideANamespace(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	inside := func(args ...string) tools.Result {
		return tryProgram(t, "unshare", append([]string{"--pid", "--fork", "--mount-proc", tools.Path("wprof-record")}, args...)...)
	}
	file := filepath.Join(t.TempDir(), "c.wprof")
	if r := inside("-d300ms", "-o", file); r.Status != 0 {
		t.Fatalf("wprof-record in a PID namespace: status %d: %s", r.Status, r.Stderr)
	} else if !bytes.Contains(r.Stderr, []byte("are missing, most others have no name and no process")) {
		t.Errorf("a recording that misses most of the machine says only %q", r.Stderr)
	}
	tools.Run(t, "wprof-info", "--check", file)
	var own map[string]string
	for _, d := range tasksOf(t, tools.Run(t, "wprof-info", "--dump", file)) {
		if d["process_comm"] == "wprof-record" && d["ns_pid"] == "1" {
			own = d
		}
	}
	if own == nil || own["pid"] == "1" {
		t.Errorf("the recorder is defined as %v, want another id outside than the 1 inside", own)
	}
	for _, args := range [][]string{{"-p1"}, {"--tid", "1"}} {
		r := inside(append([]string{"-d100ms", "-o", filepath.Join(t.TempDir(), "no.wprof")}, args...)...)
		if r.Status != 1 && r.Status != 2 || !bytes.Contains(r.Stderr, []byte("namespace")) || bytes.Count(r.Stderr, []byte("\n")) != 1 {
			t.Errorf("wprof-record %v in a PID namespace: status %d: %s", args, r.Status, r.Stderr)
		}
	}
}
