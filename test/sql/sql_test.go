//go:build linux

package sql

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// sources are those that questions are about.
const sources = "syscall,fault,net,block,lock,signal,memory,softirq,io_uring,power"

// sleep is the probe that a question is about.
const sleep = "uspan:clock_nanosleep (path:libc.so.6, arg:ret:s32) | id:sleep |"

// TestQueriesAgreeWithTheLines runs all of docs/sql.md on the whole machine, on some processes of it, and on a part of
// the time.
func TestQueriesAgreeWithTheLines(t *testing.T) {
	machine := record(t, "-a", "-f", sources, "-U", sleep)
	for _, c := range []struct {
		name, capture string
		start         int64
		args          []string
	}{
		{"machine", machine, 0, nil},
		{"processes", recordByDefault(t, "-f", sources, "-U", sleep), 0, nil},
		{"part", machine, 200e6, []string{"--start", "200ms", "--end", "700ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tools.Run(t, "wprof-json", append(c.args, "--parquet", filepath.Join(dir, "columns"), c.capture)...)
			lines := tools.Run(t, "wprof-json", append(c.args, "--time", "ns", c.capture)...)
			if err := os.WriteFile(filepath.Join(dir, "host.json"), lines, 0o600); err != nil {
				t.Fatal(err)
			}
			parsed := readLines(t, lines, c.start)
			check(t, dir, parsed)
			if c.name == "machine" && parsed.header.Lost != nil && *parsed.header.Lost == 0 {
				knowsTheHive(t, parsed)
			}
		})
	}
}

// record records the hive, with all stacks.
func record(t *testing.T, args ...string) string {
	t.Helper()
	return recordByDefault(t, append(args, "-S+timer=997hz", "--offcpu-min", "0")...)
}

// recordByDefault records the hive with the recorder's default settings: without stacks of short waits.
func recordByDefault(t *testing.T, args ...string) string {
	t.Helper()
	tools.NeedPrivilege(t)
	engines(t)
	file := filepath.Join(t.TempDir(), "host.wprof")
	acts := filepath.Join(t.TempDir(), "acts")
	if out, err := exec.Command("gcc", "-o", acts, "../e2e/testdata/acts.c").CombinedOutput(); err != nil {
		t.Fatalf("compile acts: %v: %s", err, out)
	}
	// Beside the hive, a program that makes requests to io_uring, a process that has no CPU quota for much of a second, one that sends to a port that nobody reads, and one that
	// writes to a disk.
	beside := "(for ((i = 0; i < 20; i++)); do " + acts + "; sleep 0.05; done) >/dev/null & (echo 0 >" + tools.NewQuota(t, 20).Procs() + "; exec timeout 1 sh -c 'while :; do :; done') & " +
		"(exec 3>/dev/udp/127.0.0.1/9; for ((i = 0; i < 80; i++)); do echo $i >&3; sleep 0.02; done) 2>/dev/null & " +
		"(for ((i = 0; i < 20; i++)); do dd if=/dev/zero of=" + filepath.Join(tools.DiskFolder(t), "file") + " bs=64k count=1 conv=fsync; sleep 0.05; done) 2>/dev/null & exec " + tools.Path("hive")
	args = append(args, "-d60s", "-o", file, "--", "bash", "-c", beside)
	if r := tools.Try(t, 5*time.Minute, nil, "wprof-record", args...); r.Status != 0 {
		t.Fatalf("wprof-record: status %d: %s", r.Status, r.Stderr)
	}
	return file
}

// check compares both engines, and DuckDB on the lines, with what the lines say.
func check(t *testing.T, dir string, c *capture) {
	t.Helper()
	blocks, _ := readPage(t)
	main := choose(blocks, func(b *block) bool { return b.kind == "" })
	questions := choose(blocks, (*block).isQuestion)
	if len(questions) != len(answers()) {
		t.Fatalf("the page has %d questions, this test knows %d", len(questions), len(answers()))
	}
	want := make(map[string][][]any)
	for i, answer := range answers() {
		want[questions[i].Name] = answer(c)
		if len(want[questions[i].Name]) == 0 && c.start == 0 { // all processes may have been short before
			t.Errorf("%s: no rows are expected", questions[i].Name)
		}
	}
	for _, engine := range []string{"duckdb", "chdb"} {
		got := runSQL(t, engine, dir, main)
		if len(got) != len(questions) {
			t.Errorf("%s gave %d answers to %d questions", engine, len(got), len(questions))
		}
		compareAll(t, engine, got, want)
	}
	if c.start == 0 {
		compareAll(t, "duckdb on lines", runSQL(t, "duckdb", dir, onLines(blocks)), want)
	}
}

// onLines are the blocks for the views of the lines, and the questions that these views can answer.
func onLines(blocks []block) []block {
	views := choose(blocks, func(b *block) bool { return b.kind == "json" })
	return append(views, choose(blocks, func(b *block) bool {
		other := strings.Contains(b.SQL, "FROM timer") || strings.Contains(b.SQL, "FROM fork") || strings.Contains(b.SQL, "typed_") || strings.Contains(b.SQL, "utrace_")
		return strings.HasPrefix(b.SQL, "CREATE VIEW runs") || b.isQuestion() && !other
	})...)
}

func compareAll(t *testing.T, engine string, got []answer, want map[string][][]any) {
	t.Helper()
	for _, a := range got {
		rows := want[a.Name]
		if len(a.Rows) != len(rows) {
			t.Errorf("%s: %s: %d rows, want %d:\n%v\n%v", engine, a.Name, len(a.Rows), len(rows), a.Rows, rows)
			continue
		}
		for i, row := range a.Rows {
			if len(row) != len(rows[i]) || len(row) != len(a.Columns) {
				t.Fatalf("%s: %s: row %v, want %v", engine, a.Name, row, rows[i])
			}
			for j := range row {
				if !equal(row[j], rows[i][j]) {
					t.Errorf("%s: %s: row %d: %s is %v, want %v", engine, a.Name, i, a.Columns[j], row[j], rows[i][j])
				}
			}
		}
	}
}

// equal compares a value of an answer with what it should be. Whole numbers have to be the same; the last digit of others
// depends on the order of operations.
func equal(got, want any) bool {
	switch want := want.(type) {
	case int64:
		n, ok := got.(json.Number)
		if !ok {
			return false
		}
		i, err := n.Int64()
		return err == nil && i == want
	case float64:
		n, ok := got.(json.Number)
		if !ok {
			return false
		}
		f, err := n.Float64()
		return err == nil && math.Abs(f-want) <= 1e-12*math.Abs(want)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range list {
			if !equal(list[i], want[i]) {
				return false
			}
		}
		return true
	}
	return got == want
}

// knowsTheHive compares answers with what the workload did.
func knowsTheHive(t *testing.T, c *capture) {
	t.Helper()
	const children, turns = 60, 3000
	count := int64(0)
	for _, row := range programs(c) {
		if row[0] == "hive-child" {
			count = row[1].(int64)
		}
	}
	if count != children {
		t.Errorf("%d processes called hive-child, want %d", count, children)
	}
	woken := int64(0)
	for _, l := range c.events["waking"] {
		if l.Wakee.Comm == "hive-echo" {
			woken++
		}
	}
	if woken == 0 || woken > turns+children {
		t.Errorf("hive-echo was woken %d times in %d turns", woken, turns)
	}
}

// TestCommandsOfThePage runs its commands, and the query over several captures.
func TestCommandsOfThePage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"host", "a", "b"} {
		tools.NeedPrivilege(t)
		tools.Run(t, "wprof-record", "-d300ms", "-o", filepath.Join(dir, name+".wprof"))
	}
	blocks, commands := readPage(t)
	for _, command := range commands {
		cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	many := choose(blocks, func(b *block) bool { return b.kind == "many" })
	if len(commands) < 4 || len(many) != 1 {
		t.Fatalf("the page has %d commands and %d queries over several captures", len(commands), len(many))
	}
	answer := runSQL(t, "duckdb", dir, many)[0]
	if len(answer.Rows) != 2 {
		t.Fatalf("%v, want a row for each of two captures", answer.Rows)
	}
	for i, name := range []string{"a", "b"} {
		c := readLines(t, tools.Run(t, "wprof-json", "--time", "ns", filepath.Join(dir, name+".wprof")), 0)
		pids := make(map[int64]bool)
		for _, l := range c.events["switch"] {
			pids[l.Next.PID] = true
		}
		want := fmt.Sprint("captures/", name, "/switch.parquet ", len(c.events["switch"]), " ", len(pids))
		if got := strings.Trim(fmt.Sprint(answer.Rows[i]), "[]"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
