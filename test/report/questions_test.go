//go:build linux

package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// question is a program about which somebody asks where its time goes; a deadlock, and 300 threads of which one waits for a lock, are
// scenarios.
type question struct {
	name      string
	needs     []string // programs
	prepare   string   // shell commands before the recording
	command   string   // shell commands that are recorded; $src is testdata
	processes []string // labels of processes that have time on the CPU, that with the most first
	function  string   // has the most time on the CPU, with what it calls; "": any
	findings  []string // kinds one of which comes first, not counting waits for a CPU, which are those of the machine; nil: any
	check     func(*testing.T, *answered)
}

// answered is what the first screens show of a question's recording.
type answered struct {
	capture string
	said    map[string]float64 // numbers that the program printed, by name
	report  answer
	shown   map[string]*shownProcess // by label
}

// shownProcess is what a flame graph has of the processes with a label, in ns.
type shownProcess struct{ onCPU, notSampled, idle, busy int64 }

func questions() []question {
	return []question{
		{
			name: "Python", needs: []string{"python3"}, prepare: "python3 -c 'import sys; print(sys.executable)' >python",
			command:   "$(cat python) $src/server.py",
			processes: []string{"python3"}, function: "server.Handler.do_GET", findings: []string{"one-lock", "waiting-for-peer"}, check: checkPython,
		},
		{
			name: "GoBuild", needs: []string{"go"},
			prepare: "mkdir m; cd m; printf 'module m\ngo 1.20\n' >go.mod; " +
				"w() { printf 'package main\nimport \"fmt\"\nfunc main() { fmt.Println(%s) }\n' $1 >main.go; for i in $(seq 1000); do " +
				"printf 'func F%d(n int) string { return fmt.Sprint(n, %d, fmt.Sprintf(\"%%x\", n+%s)) }\n' $i $i $1; done >>main.go; }; w 1; CGO_ENABLED=0 go build -o x .; w 2",
			command: "cd m; CGO_ENABLED=0 go build -o x .", processes: []string{"compile", "link", "go build"},
		},
		{
			name: "Compiler", needs: []string{"g++"}, command: "g++ -O1 -o heavy $src/heavy.cc",
			processes: []string{"cc1plus"},
		},
		{
			name: "Redis", needs: []string{"redis-server", "redis-benchmark", "redis-cli"},
			command: "redis-server --port 0 --unixsocket $PWD/s --save '' >log & until redis-cli -s $PWD/s ping >ping 2>&1; do sleep 0.05; done; " +
				"redis-benchmark -s $PWD/s -n 80000 -c 20 -t get -q >benchmark; redis-cli -s $PWD/s shutdown nosave; wait",
			processes: []string{"redis-", "redis-"}, check: checkRedis,
		},
		{
			name: "Node", needs: []string{"node"}, command: "node --perf-basic-prof $src/loop.js", processes: []string{"node"}, check: checkNode,
		},
		{
			name: "Java", needs: []string{"java", "javac"}, prepare: "javac -d . $src/Contended.java",
			command: "java -XX:+PreserveFramePointer -Xmx64m -XX:+UseSerialGC -cp . Contended", processes: []string{"java"}, check: checkJava,
		},
		{
			name: "Pipeline", needs: []string{"gzip"}, command: "head -c 25000000 /dev/urandom | gzip | wc -c >count",
			processes: []string{"gzip", "head"}, findings: []string{"single-threaded", "full-queue"}, check: checkPipeline,
		},
	}
}

// TestQuestions records programs that people use, and compares the first screens with what the shell's time and the programs say. Pictures and
// reports go to the folder that WPROF_SHOTS names.
func TestQuestions(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, q := range questions() {
		t.Run(q.name, func(t *testing.T) {
			for _, name := range q.needs {
				if _, err := exec.LookPath(name); err != nil {
					t.Skipf("there is no %s here; scripts/test installs it", name)
				}
			}
			q.ask(t)
		})
	}
}

func (q *question) ask(t *testing.T) {
	a := q.record(t)
	a.shown = foldedByProcess(t, a.capture)
	a.report = report(t, a.capture)
	a.checkTimeOnCPU(t)
	a.checkProcesses(t, q.processes)
	found := slices.DeleteFunc(slices.Clone(a.report.Findings), func(f finding) bool { return f.Kind == "cpu-starved" })
	if q.findings != nil && (len(found) == 0 || !slices.Contains(q.findings, found[0].Kind)) {
		t.Errorf("the first finding is none of %v: %+v", q.findings, found)
	}
	if q.function != "" && !a.hasFunction(q.function, 0.3) {
		t.Errorf("%s is not among the functions with most time: %+v", q.function, a.report.Functions)
	}
	if q.check != nil {
		q.check(t, a)
	}
	if folder := os.Getenv("WPROF_SHOTS"); folder != "" {
		tools.Convert(t, filepath.Join(folder, q.name+".svg"), "wprof-flame", "--svg", a.capture)
		tools.Convert(t, filepath.Join(folder, q.name+".txt"), "wprof-info", "--report", a.capture)
	}
}

// record records the question's commands. The shell says how much CPU time they took.
func (q *question) record(t *testing.T) *answered {
	t.Helper()
	folder := t.TempDir()
	source, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "src="+source, "LC_ALL=C")
		late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", cmd.Args, err, out)
		}
		return string(out)
	}
	if q.prepare != "" {
		run("bash", "-ec", q.prepare)
	}
	a := &answered{capture: filepath.Join(folder, "question.wprof"), said: make(map[string]float64)}
	out := run(tools.Path("wprof-record"), "-o", a.capture, "--", "bash", "-ec", "TIMEFORMAT=$'user %U\nsystem %S'; time { "+q.command+"\n}")
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 {
			if n, err := strconv.ParseFloat(f[1], 64); err == nil {
				a.said[f[0]] = n
			}
		}
	}
	return a
}

func foldedByProcess(t *testing.T, capture string) map[string]*shownProcess {
	t.Helper()
	all := make(map[string]*shownProcess)
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--unit=ns", capture))) {
		stack, ns := parseFolded(t, line)
		root, _, _ := strings.Cut(stack, ";")
		label := root[:max(0, strings.LastIndexByte(root, '-'))]
		p := all[label]
		if p == nil {
			p = new(shownProcess)
			all[label] = p
		}
		switch {
		case strings.HasSuffix(stack, ";[not sampled]_[c]"):
			p.notSampled += ns
			p.onCPU += ns
		case strings.HasSuffix(stack, "_[c]"):
			p.onCPU += ns
		case strings.HasSuffix(stack, ";[idle]_[o]"):
			p.idle += ns
		default:
			p.busy += ns
		}
	}
	return all
}

// checkTimeOnCPU compares the time on the CPU with the shell's, and how much of it has no place.
func (a *answered) checkTimeOnCPU(t *testing.T) {
	t.Helper()
	onCPU, notSampled := int64(0), int64(0)
	for _, p := range a.shown {
		onCPU += p.onCPU
		if p.onCPU > 30e6 { // others may have ended before a sample
			notSampled += p.notSampled
		}
	}
	own := a.said["user"] + a.said["system"]
	if got := float64(onCPU) / 1e9; got < 0.93*own-0.03 || got > 1.07*own+0.05 {
		t.Errorf("the flame graph has %.3f s on the CPU, the shell counted %.3f s", got, own)
	}
	if float64(notSampled) > 0.02*float64(onCPU) {
		t.Errorf("of %d ns on the CPU %d are [not sampled]: %s", onCPU, notSampled, a)
	}
}

// checkProcesses checks which processes have time on the CPU: the first label has the most.
func (a *answered) checkProcesses(t *testing.T, labels []string) {
	t.Helper()
	top, most := "", int64(0)
	for label, p := range a.shown {
		if p.onCPU > most {
			top, most = label, p.onCPU
		}
	}
	if !strings.HasPrefix(top, labels[0]) {
		t.Errorf("%s has the most time on the CPU, not %s: %s", top, labels[0], a)
	}
	for _, label := range labels {
		if p := a.of(label); p.onCPU == 0 {
			t.Errorf("no process is called %s: %s", label, a)
		}
	}
}

// of adds up the processes whose label begins so.
func (a *answered) of(label string) (sum shownProcess) {
	for name, p := range a.shown {
		if strings.HasPrefix(name, label) {
			sum.onCPU, sum.notSampled, sum.idle, sum.busy = sum.onCPU+p.onCPU, sum.notSampled+p.notSampled, sum.idle+p.idle, sum.busy+p.busy
		}
	}
	return sum
}

func (a *answered) String() string {
	var text strings.Builder
	for name, p := range a.shown {
		fmt.Fprintf(&text, "%s: %+v; ", name, *p)
	}
	return text.String()
}

func (a *answered) hasFunction(name string, least float64) bool {
	for _, f := range a.report.Functions {
		if strings.Contains(f.Name, name) && f.Total >= least {
			return true
		}
	}
	return false
}

// timeOf is the time of a class in the report, in seconds.
func (a *answered) timeOf(class string) float64 {
	for _, one := range a.report.Time {
		if one.Class == class {
			return float64(one.Ns) / 1e9
		}
	}
	return 0
}

// checkPython: threads that compute wait for the interpreter's global lock.
func checkPython(t *testing.T, a *answered) {
	if got := a.timeOf("gil"); got < 0.05 {
		t.Errorf("four threads of Python compute at the same time, and wait for the global lock for %.3f s only: %+v", got, a.report.Time)
	}
}

// checkRedis: its threads in the background are idle, and so is the server while it has no request.
func checkRedis(t *testing.T, a *answered) {
	p := a.of("redis-server")
	if p.idle < 3*p.busy {
		t.Errorf("redis-server has three threads in the background without work: %d ns are idle, %d ns are other waits", p.idle, p.busy)
	}
}

// checkNode: the function in which it is busy is the one with the most time.
func checkNode(t *testing.T, a *answered) {
	if share := 0.6 * a.said["function"] / (a.said["user"] + a.said["system"]); !a.hasFunction("computePage", share) {
		t.Errorf("computePage had %v s, of %v s: %+v", a.said["function"], a.said["cpu"], a.report.Functions)
	}
	if p := a.of("node"); p.idle < p.busy {
		t.Errorf("node has threads without work: %d ns are idle, %d ns are other waits", p.idle, p.busy)
	}
}

// checkJava: the time that threads waited for the monitor is time for a lock, and the function under it is known by its name.
func checkJava(t *testing.T, a *answered) {
	if got, own := a.timeOf("lock"), a.said["blocked"]; got < 0.8*own-0.05 || got > 1.2*own+0.1 {
		t.Errorf("the report has %.3f s of waits for locks; the JVM says that its threads were blocked for %.3f s", got, own)
	}
	if !a.hasFunction("Contended", 0.1) {
		t.Errorf("no function of the program is among those with most time: %+v", a.report.Functions)
	}
}

// checkPipeline: the first one has work and waits for room in the pipe; the last one waits for work, and so does the shell, for all of them.
func checkPipeline(t *testing.T, a *answered) {
	if shell := a.of("bash"); shell.busy > shell.idle/2 {
		t.Errorf("bash waits for its commands: %d ns are idle, %d ns are other waits", shell.idle, shell.busy)
	}
	if first := a.of("head"); first.idle > first.busy/10 {
		t.Errorf("head waits for room in a pipe: %d ns are idle, %d ns are other waits", first.idle, first.busy)
	}
	if last := a.of("wc"); last.busy > last.idle/2 {
		t.Errorf("wc waits for work: %d ns are idle, %d ns are other waits", last.idle, last.busy)
	}
}
