//go:build linux

package ending

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// moment is a part of a recorder's life in which it is killed.
type moment struct {
	name     string
	args     []string
	opened   bool          // the time counts from the opening of the window, not from the start
	from, to time.Duration // the kill comes in between
	command  bool          // the workload is the recorded command
	pipe     bool          // it writes to a pipe
}

var moments = []moment{
	{name: "start-up", args: []string{"-d60s"}, to: 450 * time.Millisecond},
	{name: "just after the opening", args: []string{"-d60s"}, opened: true, to: 40 * time.Millisecond},
	{name: "recording", args: []string{"-d60s"}, opened: true, from: 200 * time.Millisecond, to: 1900 * time.Millisecond},
	{name: "recording with all stacks", args: []string{"-d60s", "-Sall", "--offcpu-min=0", "-Stimer=997hz"}, opened: true, from: 200 * time.Millisecond, to: 1900 * time.Millisecond},
	{name: "recording without samples", args: []string{"-d60s", "--no-stacks"}, opened: true, from: 200 * time.Millisecond, to: 1900 * time.Millisecond},
	{name: "cut of generations", args: []string{"-d60s"}, opened: true, from: 1900 * time.Millisecond, to: 3200 * time.Millisecond},
	{name: "second cut of generations", args: []string{"-d60s", "-Sall", "--ringbuf-size=1mb"}, opened: true, from: 3900 * time.Millisecond, to: 4600 * time.Millisecond},
	{name: "flight recorder", args: []string{"-F1s", "-d60s"}, opened: true, from: 900 * time.Millisecond, to: 5 * time.Second},
	{name: "flight recorder with little room", args: []string{"-F1s,64mb", "-d60s", "-Sall", "--offcpu-min=0", "-Stimer=5khz"}, opened: true, from: 2 * time.Second, to: 6 * time.Second},
	{name: "finalisation", args: []string{"-d700ms", "-Sall", "--offcpu-min=0"}, opened: true, from: 695 * time.Millisecond, to: 900 * time.Millisecond},
	{name: "a command", opened: true, from: 100 * time.Millisecond, to: 1200 * time.Millisecond, command: true},
	{name: "start of a command", to: 450 * time.Millisecond, command: true},
	{name: "live", args: []string{"-d60s", "--live"}, opened: true, from: 100 * time.Millisecond, to: 2600 * time.Millisecond, pipe: true},
}

// kill is one recorder's life and what was left of it.
type kill struct {
	moment
	t        testing.TB
	dir      string
	cmd      *exec.Cmd
	stdout   tools.Buffer
	stderr   tools.Buffer
	stampLog string
	before   attached
	had      attached
	at       int64 // CLOCK_MONOTONIC, ns
}

// outcomes are the results of all kills.
type outcomes struct {
	mu         sync.Mutex
	kills      map[string]int
	recovered  int
	unopened   int
	complete   int
	departures int
	longest    time.Duration // between the last whole round and the kill
}

// TestKilledRecorders kills recorders with SIGKILL at random moments of their lives. WPROF_SOAK_KILLS says how many.
func TestKilledRecorders(t *testing.T) {
	tools.NeedPrivilege(t)
	kills := len(moments)
	if n, err := strconv.Atoi(os.Getenv("WPROF_SOAK_KILLS")); err == nil {
		kills = n
	}
	before := everything(t)
	result := &outcomes{kills: map[string]int{}}
	// A few at a time: recorders do not disturb each other, and most of the time one waits.
	t.Run("at", func(t *testing.T) {
		slots := make(chan bool, 5)
		for n := range kills {
			m := moments[n%len(moments)]
			t.Run(fmt.Sprintf("%s %d", m.name, n), func(t *testing.T) {
				t.Parallel()
				slots <- true
				defer func() { <-slots }()
				killed := &kill{moment: m, t: t, dir: t.TempDir(), before: before, had: attached{}}
				killed.run(result)
			})
		}
	})
	t.Logf("soak: %d recorders were killed: %s", kills, result.counts())
	t.Logf("soak: %d recordings were recovered to their last whole round, %d had ended, of %d the window had not opened", result.recovered, result.complete, result.unopened)
	t.Logf("soak: %d departures of threads from a CPU were compared with the kernel's own counts: none was missing, none was there twice", result.departures)
	t.Logf("soak: the longest time between the last whole round and the kill was %s", result.longest.Round(time.Millisecond))
}

func (o *outcomes) counts() string {
	var all []string
	for name, n := range o.kills {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (k *kill) run(result *outcomes) {
	if !k.command {
		k.stampLog = stamps(k.t)
	} else {
		k.stampLog = filepath.Join(k.t.TempDir(), "stamps")
	}
	k.start()
	k.wait()
	k.heldBefore()
	k.at = proc.Monotonic()
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	k.noProcess()
	nothingLeft(k.t, k.before, k.had)
	result.mu.Lock()
	result.kills[k.name]++
	result.mu.Unlock()
	k.recover(result)
}

// start starts the recorder in a session of its own, with folders of its own.
func (k *kill) start() {
	k.t.Helper()
	args := append([]string{"-v"}, k.args...)
	if !k.pipe {
		args = append(args, "-o", filepath.Join(k.dir, "x.wprof"))
	}
	if k.command {
		args = append(args, "--", tools.Path("stamps"), k.stampLog, "4")
	}
	k.cmd = exec.Command(tools.Path("wprof-record"), args...)
	k.cmd.Env = append(os.Environ(), "TMPDIR="+k.dir)
	k.cmd.Stderr = &k.stderr
	if k.pipe {
		k.cmd.Stdout = &k.stdout
	}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) })
}

// wait waits for the moment.
func (k *kill) wait() {
	k.t.Helper()
	for end := time.Now().Add(60 * time.Second); k.opened && !strings.Contains(k.stderr.String(), "window open"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("the window does not open: %s", k.stderr.String())
		}
	}
	for end := time.Now().Add(k.from + rand.N(k.to-k.from)); time.Now().Before(end); time.Sleep(min(20*time.Millisecond, time.Until(end))) {
		if !k.opened {
			k.heldBefore() // what it has grows until the window opens
		}
	}
}

// heldBefore notes what the recorder has.
func (k *kill) heldBefore() { k.had.heldBy(strconv.Itoa(k.cmd.Process.Pid)) }

// noProcess waits until no process of the recorder's session is left but the command, which goes on by itself.
func (k *kill) noProcess() {
	k.t.Helper()
	group := -k.cmd.Process.Pid
	if k.command {
		members, _ := exec.Command("pgrep", "-s", strconv.Itoa(-group)).Output()
		for _, member := range strings.Fields(string(members)) {
			pid, _ := strconv.Atoi(member)
			noBPF(k.t, pid)
		}
	}
	for end := time.Now().Add(60 * time.Second); unix.Kill(group, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatal("a process of the recorder's is left")
		}
	}
}

// recover makes a capture of what is left and compares it with what the workload wrote.
func (k *kill) recover(result *outcomes) {
	k.t.Helper()
	if k.pipe {
		k.readPiped(result)
		return
	}
	part, file := filepath.Join(k.dir, "x.wprof.part"), filepath.Join(k.dir, "x.wprof")
	left := names(k.t, k.dir)
	if slices.Equal(left, []string{"x.wprof"}) || slices.Equal(left, []string{"x.wprof", "x.wprof.part"}) {
		// It had been written; nothing was left but to remove the spool.
		k.check(file, result, &result.complete)
		return
	}
	if len(left) == 0 && !k.opened {
		result.count(&result.unopened)
		return
	}
	if !slices.Equal(left, []string{"x.wprof.part"}) {
		k.t.Fatalf("the folder holds %v: %s", left, k.stderr.String())
	}
	r := tools.Try(k.t, time.Minute, nil, "wprof-symbolize", "--no-lines", part, "-o", file)
	switch said := string(r.Stderr); {
	case r.Status == 4 && strings.Contains(said, "the recording was cut off: everything up to the last whole round is there"):
		k.check(file, result, &result.recovered)
	case r.Status == 0 && k.name == "finalisation" && said == "":
		k.check(file, result, &result.complete)
	case r.Status == 1 && k.unopened() && said == "wprof-symbolize: finish "+part+": the recording was cut off before its window opened: there is nothing to recover, remove the file\n":
		result.count(&result.unopened)
		if left := names(k.t, k.dir); len(left) != 1 {
			k.t.Errorf("after a recovery of nothing the folder holds %v", left)
		}
	default:
		k.t.Errorf("wprof-symbolize: status %d: %s", r.Status, said)
	}
}

// unopened reports whether the window may still be missing: it had not opened, or the first round had not ended,
// which takes half a second at most.
func (k *kill) unopened() bool { return !k.opened || k.from < 500*time.Millisecond }

// names are the files of a folder, hidden ones included.
func names(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func (o *outcomes) count(n *int) {
	o.mu.Lock()
	*n++
	o.mu.Unlock()
}

// check checks a whole capture.
func (k *kill) check(file string, result *outcomes, n *int) {
	k.t.Helper()
	if r := tools.Try(k.t, time.Minute, nil, "wprof-info", "--check", file); r.Status != 0 {
		k.t.Errorf("wprof-info --check: status %d: %s%s", r.Status, r.Stdout, r.Stderr)
	}
	f, err := os.Open(file)
	if err != nil {
		k.t.Fatal(err)
	}
	defer f.Close()
	s := readDepartures(k.t, f)
	k.compare(s, result, n)
	if n == &result.complete {
		return
	}
	lag := time.Duration(k.at - s.close)
	result.mu.Lock()
	result.longest = max(result.longest, lag)
	result.mu.Unlock()
	// The promise, and what a busy machine may take away: the time that the recorder waited for the disk or a CPU.
	if lag > 500*time.Millisecond+time.Second {
		k.t.Errorf("the recovered recording ends %v before the recorder was killed", lag)
	}
}

// readPiped checks what came through a pipe: what is whole is right, and its tools say that it was cut.
func (k *kill) readPiped(result *outcomes) {
	k.t.Helper()
	if left := names(k.t, k.dir); len(left) > 0 {
		k.t.Errorf("the spool's folder holds %v", left)
	}
	stream := []byte(k.stdout.String())
	if len(stream) == 0 && k.unopened() {
		result.count(&result.unopened)
		return
	}
	k.compare(readDepartures(k.t, bytes.NewReader(stream)), result, &result.recovered)
	r := tools.Try(k.t, time.Minute, stream, "wprof-filter", "-o", filepath.Join(k.dir, "f"))
	if r.Status != 4 {
		k.t.Errorf("wprof-filter: status %d, want 4: %s", r.Status, r.Stderr)
	}
}

func (k *kill) compare(s *departures, result *outcomes, n *int) {
	k.t.Helper()
	compared := s.compare(k.t, readStamps(k.t, k.stampLog))
	if cmp.Or(k.from, k.to) > time.Second && compared < 100 && len(s.lost) == 0 {
		k.t.Errorf("only %d departures could be compared", compared)
	}
	result.mu.Lock()
	*n++
	result.departures += compared
	result.mu.Unlock()
}
