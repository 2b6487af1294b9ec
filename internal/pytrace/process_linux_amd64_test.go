package pytrace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	RunHelper()
	if os.Args[0] == recorderName {
		record()
	}
	os.Exit(m.Run())
}

const recorderName = "recorder"

// record traces a process until this one is killed.
func record() {
	pid, _ := strconv.Atoi(os.Args[1])
	p, err := Attach(pid, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := p.Started(time.Now().Add(StartWithin)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p.Open()
	for {
		p.Beat()
		p.Calls(1<<20, math.MaxInt64, func(Call) {})
		time.Sleep(time.Millisecond)
	}
}

// program is a program of Python that tells when it is ready, and that a line on its standard input ends.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func start(t *testing.T, python, script string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(python, append([]string{filepath.Join("testdata", script)}, args...)...)}
	p.in, _ = p.cmd.StdinPipe()
	out, _ := p.cmd.StdoutPipe()
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.lines = bufio.NewScanner(out)
	if line := p.line(); line != "ready" {
		t.Fatalf("%s %s: %q", python, script, line)
	}
	return p
}

func (p *program) pid() int { return p.cmd.Process.Pid }

func (p *program) line() string {
	p.lines.Scan()
	return p.lines.Text()
}

func (p *program) enter() { _, _ = io.WriteString(p.in, "\n") }

// end ends the program, and returns what it prints last.
func (p *program) end() string {
	p.t.Helper()
	p.enter()
	line := p.line()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the program ended: %v", err)
	}
	return line
}

// belongings are the descriptors, threads and mappings of a process; of the mappings those that the agent's code needs are left out.
func (p *program) belongings() string {
	var all []string
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid()))
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid()))
	all = append(all, fmt.Sprint(len(fds), " descriptors, ", len(tasks), " threads"))
	mappings, _ := readMappings(p.pid())
	for _, m := range mappings {
		if strings.HasPrefix(m.path, "/memfd:") && !strings.Contains(m.permissions, "x") {
			all = append(all, fmt.Sprintf("%x-%x %s", m.start, m.end, m.path))
		}
	}
	return strings.Join(all, "\n")
}

func attached(t *testing.T, pid int) *Process { t.Helper(); return attachedWith(t, pid, Options{}) }

func attachedWith(t *testing.T, pid int, o Options) *Process {
	t.Helper()
	p, err := Attach(pid, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Started(time.Now().Add(StartWithin)); err != nil {
		t.Fatal(err)
	}
	return p
}

// eachPython runs a test with each interpreter that can be traced.
func eachPython(t *testing.T, test func(t *testing.T, python string)) {
	tools.NeedPrivilege(t)
	for _, python := range tools.Pythons(t) {
		if strings.Contains(python, "t/bin") {
			continue
		}
		t.Run(strings.ReplaceAll(python, "/", "_"), func(t *testing.T) { test(t, python) })
	}
}

// attaches is how often a test attaches to a busy program.
func attaches() int {
	if n, _ := strconv.Atoi(os.Getenv("WPROF_TEST_ATTACHES")); n > 0 {
		return n
	}
	return 5
}

// TestAttachingChangesNothing: results, signals, descriptors and threads of a busy program are what they would be.
func TestAttachingChangesNothing(t *testing.T) {
	eachPython(t, func(t *testing.T, python string) {
		p := start(t, python, "load.py", "short", "child")
		sent, stop, done := 0, make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Microsecond):
					if unix.Kill(p.pid(), unix.Signal(34)) == nil {
						sent++
					}
				}
			}
		}()
		calls := 0
		options := []Options{{}, {Modules: []string{"!load"}}, {Min: 10 * time.Microsecond}}
		for i := range attaches() {
			a := attachedWith(t, p.pid(), options[i%len(options)])
			a.Open()
			time.Sleep(10 * time.Millisecond)
			a.Calls(1<<20, math.MaxInt64, func(Call) { calls++ })
			a.Close(time.Now().Add(2 * time.Second))
		}
		close(stop)
		<-done
		if calls == 0 {
			t.Error("there are no calls")
		}
		time.Sleep(50 * time.Millisecond)
		if left := p.belongings(); strings.Contains(left, "memfd") {
			t.Errorf("left in the process: %s", left)
		}
		if got, want := p.end(), fmt.Sprintf("right %d", sent); got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
		t.Logf("%d calls, %d signals", calls, sent)
	})
}

// expected are the calls in a round of count.py: that of a generator is one for each time that it runs, as in Python's own profilers.
func expected() map[string]int {
	return map[string]int{"leaf": 1, "recurse": 4, "generate": 3, "guarded": 2, "fail": 1, "value": 1, "method": 1, "<lambda>": 2, "coroutine": 1}
}

// TestCallsAreCounted: each call is there once, or is counted as lost.
func TestCallsAreCounted(t *testing.T) {
	const rounds = 40000 // of 16 calls each, in two threads
	eachPython(t, func(t *testing.T, python string) {
		p := start(t, python, "count.py", strconv.Itoa(rounds))
		a := attached(t, p.pid())
		a.Open()
		p.enter()
		if line := p.line(); line != "ready" {
			t.Fatal(line)
		}
		p.enter()
		counts, lost, open := count(a, p)
		total := 0
		for name, n := range expected() {
			total += 2 * rounds * n
			if got := counts[name]; got > 2*rounds*n || lost == 0 && got != 2*rounds*n {
				t.Errorf("%d calls of %s, want %d", got, name, 2*rounds*n)
			}
		}
		got := 0
		for name := range expected() {
			got += counts[name]
		}
		if got+lost < total || got+lost > total+1000 {
			t.Errorf("%d calls and %d lost, want %d", got, lost, total)
		}
		if open["main"] != 1 || open["work"] != 0 {
			t.Errorf("open are %v, want main", open)
		}
		a.Close(time.Now().Add(time.Millisecond))
		p.end()
		t.Logf("%d calls, %d lost", got, lost)
	})
}

// Threads that begin while the process is traced get places, more than there were at first. What they call until then is counted as lost.
func TestThreadsThatBeginLater(t *testing.T) {
	eachPython(t, func(t *testing.T, python string) {
		const threads, calls = 40, 1000
		p := start(t, python, "pool.py", strconv.Itoa(threads))
		a := attached(t, p.pid())
		a.Open()
		p.enter()
		counts, lost, _ := count(a, p)
		if got := counts["leaf"]; got > calls*threads || got < calls*threads*3/4 || got+lost < calls*threads {
			t.Errorf("%d calls and %d lost, want %d", got, lost, calls*threads)
		}
		a.Close(time.Now().Add(time.Second))
		p.end()
	})
}

// count counts the calls by function until the program says that they are done, those that are lost, and those that are open then.
func count(a *Process, p *program) (counts map[string]int, lost int, open map[string]int) {
	done := make(chan struct{})
	go func() {
		p.line()
		close(done)
	}()
	counts, open = make(map[string]int), make(map[string]int)
	into := func(m map[string]int) func(Call) {
		return func(c Call) {
			if f := a.Function(c.Code); f != nil {
				m[f.Name[strings.LastIndex(f.Name, ".")+1:]]++
			}
		}
	}
	for more := true; more; {
		select {
		case <-done:
			more = false
		case <-time.After(time.Millisecond):
		}
		a.Beat()
		lost += int(a.Calls(1<<22, math.MaxInt64, into(counts)).Lost)
	}
	a.Shut()
	a.OpenCalls(1<<62, into(open))
	return counts, lost, open
}

// TestKilledRecorder: a program lives on when the recorder is killed, at any moment, and nothing is left in it.
func TestKilledRecorder(t *testing.T) {
	eachPython(t, func(t *testing.T, python string) {
		t.Parallel()
		p := start(t, python, "load.py", "short", "child")
		for range max(attaches()/5, 1) {
			r := exec.Command("/proc/self/exe")
			r.Args = []string{recorderName, strconv.Itoa(p.pid())}
			r.Stdout = os.Stderr
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			after := time.Duration(rand.IntN(150)) * time.Millisecond
			time.Sleep(after)
			_ = r.Process.Kill()
			_ = r.Wait()
			time.Sleep(100 * time.Millisecond) // a process that attaches finishes that
			for end := time.Now().Add(20 * time.Second); p.inUse(); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("killed after %v: left in the process: %s", after, p.belongings())
				}
			}
		}
		if got := p.end(); got != "right 0" {
			t.Errorf("the program says %q", got)
		}
	})
}

// inUse reports whether the process has memory of the agent's beside its code.
func (p *program) inUse() bool { return strings.Contains(p.belongings(), "memfd") }
