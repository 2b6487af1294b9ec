//go:build linux

package ending

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// deletedSteady starts the program steady from a file that is removed then.
func deletedSteady(t testing.TB, args ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "steady")
	program, err := os.ReadFile(tools.Path("steady"))
	must(t, err)
	must(t, os.WriteFile(path, program, 0o700))
	cmd := exec.Command(path, args...)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	time.Sleep(time.Second) // so that a recorder opens the file
	must(t, os.Remove(path))
}

// hasSteady checks that what is known of a program that began long before the window is in a capture.
func hasSteady(t testing.TB, file, argument string) {
	t.Helper()
	flame := string(tools.Run(t, "wprof-flame", "--folded", file))
	if !strings.Contains(flame, ";steady_function ") && !strings.Contains(flame, ";steady_function;") {
		t.Errorf("%s: the function of the program is missing", file)
	}
	if info := string(tools.Run(t, "wprof-info", file)); !strings.Contains(info, "steady "+argument) {
		t.Errorf("%s: the command line of the program is missing:\n%s", file, info)
	}
}

// TestFlightRecorderKeepsExactlyTheLastWindow compares what it has written with the kernel's own counts. The recorder begins before the
// programs whose names it has to have in the end.
func TestFlightRecorderKeepsExactlyTheLastWindow(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(tools.DiskFolder(t), "x.wprof")
	r := tools.Start(t, "-F1s,64mb", "-o", file)
	deletedSteady(t, "in-the-window")
	log := stamps(t)
	time.Sleep(7 * time.Second) // longer than records of mappings wait, so that they are dropped
	ended := proc.Monotonic()
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	s := whole(t, file)
	if got := s.close - s.open; got != time.Second.Nanoseconds() {
		t.Errorf("the window is %d ns long, want a second", got)
	}
	if s.close < ended {
		t.Errorf("the window closed %.3f s before the recorder was stopped", float64(ended-s.close)/1e9)
	}
	if len(s.lost) > 0 || s.cut != 0 {
		t.Errorf("losses %v, cut %d", s.lost, s.cut)
	}
	if compared := s.compare(t, readStamps(t, log)); compared < 100 {
		t.Errorf("only %d departures could be compared", compared)
	}
	hasSteady(t, file, "in-the-window")
	if _, err := os.Stat(file + ".part"); !os.IsNotExist(err) {
		t.Errorf("the spool is left: %v", err)
	}
}

// Without a disk that can free parts of a file, and with values of other profilers, a flight recorder says so at once.
func TestFlightRecorderIsRefusedInOneSentence(t *testing.T) {
	for typed, want := range map[string]string{
		"-F 99":                 "-F is the flight recorder: perf's -F 99 is --freq=99 here, or -S+timer=99hz",
		"-F99":                  `--flight-recorder: "99" has no unit: 99s is a window of that length; perf's -F 99 is --freq=99 here, or -S+timer=99hz`,
		"-F99hz":                `--flight-recorder: "99hz" is no window like 1s: perf's -F 99hz is --freq=99hz here, or -S+timer=99hz`,
		"-F 2s":                 "no space after -F: write -F2s",
		"-F1ms":                 "--flight-recorder: the window must be at least 100ms, or 0 for no limit",
		"-F1s,1kb":              "--flight-recorder: the size must be at least 64mb, or 0 for no limit",
		"-F --live":             "--flight-recorder and --live contradict each other: what was written cannot be dropped",
		"--after=1s":            "--after is for snapshots of a flight recorder: add -F",
		"-F --keep=/no/such":    "--keep: there is no folder /no/such; make it first",
		"-F --keep=/tmp,x":      `--keep: "x" is no number of snapshots`,
		"-F --snapshot-count=0": "--snapshot-count must be at least 1",
		"-F1s,64mbs":            `--flight-recorder: "64mbs" is not a size: the unit is one of b, kb, mb, gb, in powers of 1024`,
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", append(strings.Fields(typed), "-o", filepath.Join(t.TempDir(), "x"))...)
		if said := string(r.Stderr); r.Status != 2 || said != "wprof-record: "+want+"\n" {
			t.Errorf("%q: status %d: %q, want 2: %q", typed, r.Status, said, want)
		}
	}
}

// takeSnapshot requests a snapshot of a flight recorder, and returns when it is written.
func takeSnapshot(t testing.TB, r *tools.Recorder) {
	t.Helper()
	before := strings.Count(r.Stderr.String(), ": snapshot ")
	must(t, r.Cmd.Process.Signal(syscall.SIGUSR1))
	awaitMessages(t, r, func(text string) bool { return strings.Count(text, ": snapshot ") > before })
}

// awaitMessages waits until a recorder's messages match.
func awaitMessages(t testing.TB, r *tools.Recorder, match func(string) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !match(r.Stderr.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the recorder says %s", r.Stderr.String())
		}
	}
}

func stopFlight(t testing.TB, r *tools.Recorder) {
	t.Helper()
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
}

// isWindow checks a window that is to be sound, a second long and without losses, against the workload's counts.
func isWindow(t testing.TB, file, log string) *departures {
	t.Helper()
	s := whole(t, file)
	if got := s.close - s.open; got != time.Second.Nanoseconds() {
		t.Errorf("%s: the window is %d ns long, want a second", file, got)
	}
	if len(s.lost) > 0 || s.cut != 0 {
		t.Errorf("%s: losses %v, cut %d", file, s.lost, s.cut)
	}
	if compared := s.compare(t, readStamps(t, log)); compared < 100 {
		t.Errorf("%s: only %d departures could be compared", file, compared)
	}
	return s
}

func TestSnapshotsLoseNothing(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	r := tools.Start(t, "-F1s", "-o", filepath.Join(dir, "x.wprof"))
	deletedSteady(t, "in-all-windows")
	log := stamps(t)
	time.Sleep(6 * time.Second)
	requested := proc.Monotonic()
	takeSnapshot(t, r)
	time.Sleep(200 * time.Millisecond)
	takeSnapshot(t, r) // their windows overlap
	time.Sleep(1500 * time.Millisecond)
	stopFlight(t, r)
	if left := names(t, dir); !slices.Equal(left, []string{"x.1.wprof", "x.2.wprof", "x.wprof"}) {
		t.Fatalf("the folder holds %v", left)
	}
	last := int64(0)
	for n, file := range []string{"x.1.wprof", "x.2.wprof", "x.wprof"} {
		s := isWindow(t, filepath.Join(dir, file), log)
		hasSteady(t, filepath.Join(dir, file), "in-all-windows")
		if s.close <= last || n == 0 && s.close < requested {
			t.Errorf("%s closes at %d, the one before at %d, it was requested at %d", file, s.close, last, requested)
		}
		last = s.close
	}
}

// Triggers in quick succession, also while a snapshot is written, cost no events, and are counted.
func TestStormOfTriggersIsIgnored(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	r := tools.Start(t, "-F1s", "--after=300ms", "-o", filepath.Join(dir, "x.wprof"))
	log := stamps(t)
	time.Sleep(2 * time.Second)
	requested := proc.Monotonic()
	for range 200 {
		must(t, r.Cmd.Process.Signal(syscall.SIGUSR1))
		time.Sleep(time.Millisecond)
	}
	awaitMessages(t, r, func(text string) bool { return strings.Contains(text, ": snapshot ") })
	takeSnapshot(t, r)
	time.Sleep(time.Second)
	stopFlight(t, r)
	if text := r.Stderr.String(); !strings.Contains(text, " triggers ignored since the last one") {
		t.Errorf("no trigger was ignored: %s", text)
	}
	left := names(t, dir)
	if len(left) < 3 || len(left) > 5 {
		t.Errorf("200 triggers in a fifth of a second left %v", left)
	}
	for _, file := range left {
		if s := isWindow(t, filepath.Join(dir, file), log); file == "x.1.wprof" && s.close < requested+300e6 {
			t.Errorf("the first snapshot closes %d ms after it was requested, want 300 at least", (s.close-requested)/1e6)
		}
	}
}

// TestSnapshotHasWhatIsUnderWay has two threads in a call for a long time, as hung requests are. One of them is killed in it, so that its function
// does not return. Each capture has each call once, and is not confused by what earlier snapshots listed.
func TestSnapshotHasWhatIsUnderWay(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	r := tools.Start(t, "-F500ms", "--no-stacks", "-n", "wprof-hung*", "-f", "syscall", "-U", "uspan:nanosleep (path:libc.so.6) | id:req |", "-o", filepath.Join(dir, "x.wprof"))
	one, two := startNamed(t, "wprof-hung1", "/bin/sleep", "60"), startNamed(t, "wprof-hung2", "/bin/sleep", "60")
	time.Sleep(700 * time.Millisecond)
	takeSnapshot(t, r)
	must(t, two.Process.Kill())
	_ = two.Wait()
	time.Sleep(1500 * time.Millisecond)
	takeSnapshot(t, r)
	must(t, one.Process.Kill())
	_ = one.Wait()
	stopFlight(t, r)
	for file, want := range map[string]map[string]map[int]string{
		"x.1.wprof": {"clock_nanosleep": {one.Process.Pid: "yes", two.Process.Pid: "yes"}, "nanosleep": {one.Process.Pid: "yes", two.Process.Pid: "yes"}},
		"x.2.wprof": {"clock_nanosleep": {one.Process.Pid: "yes"}, "nanosleep": {one.Process.Pid: "yes"}},
		"x.wprof":   {"clock_nanosleep": {one.Process.Pid: ""}},
	} {
		s := whole(t, filepath.Join(dir, file))
		for name, want := range want {
			got := make(map[int]string)
			for _, row := range typed(t, filepath.Join(dir, file), name) {
				if _, twice := got[row.Task.TID]; twice {
					t.Errorf("%s: %s of thread %d is there twice", file, name, row.Task.TID)
				}
				got[row.Task.TID] = row.Open
				if row.Dur < 0.5 || row.Open != "" && int64(math.Round(row.TS*1e9)) != s.close-s.open {
					t.Errorf("%s: %s of thread %d takes %g s up to %g s, want the close at %d ns", file, name, row.Task.TID, row.Dur, row.TS, s.close-s.open)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %s is open in %v, want %v", file, name, got, want)
			}
		}
	}
}

func TestNewestSnapshotsAreKept(t *testing.T) {
	tools.NeedPrivilege(t)
	dir, log := tools.DiskFolder(t), filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(filepath.Join(dir, "foreign.wprof"), nil, 0o600))
	r := tools.Start(t, "-F500ms", "--no-stacks", "--keep", dir+",2", "--exec", `printf '%s\n' >>`+log)
	for range 4 {
		takeSnapshot(t, r)
	}
	stopFlight(t, r)
	host, err := os.Hostname()
	must(t, err)
	text, err := os.ReadFile(log)
	must(t, err)
	written := strings.Fields(string(text))
	if len(written) != 4 || !slices.IsSorted(written) {
		t.Fatalf("the command was run for %q", written)
	}
	want := []string{"foreign.wprof", filepath.Base(written[2]), filepath.Base(written[3]), host + ".wprof"}
	slices.Sort(want)
	if left := names(t, dir); !slices.Equal(left, want) {
		t.Errorf("the folder holds %v, want %v", left, want)
	}
}

// A disk that is full when a snapshot is written costs that snapshot only.
func TestSnapshotOnAFullDiskLeavesTheRecordingAlone(t *testing.T) {
	tools.NeedPrivilege(t)
	dir, small := tools.DiskFolder(t), smallDisk(t, "8m")
	filler := fill(t, small, 16<<10)
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, "-F1s", "--keep", small, "-o", file)
	log := stamps(t)
	time.Sleep(2 * time.Second)
	must(t, r.Cmd.Process.Signal(syscall.SIGUSR1))
	awaitMessages(t, r, func(text string) bool { return strings.Contains(text, "the snapshot (SIGUSR1) failed: write "+small) })
	if text := r.Stderr.String(); !strings.Contains(text, "no space left on device") || !strings.Contains(text, "; the recording goes on") {
		t.Errorf("it says %s", text)
	}
	if left := names(t, small); !slices.Equal(left, []string{"filler"}) {
		t.Errorf("a snapshot that failed leaves %v", left)
	}
	must(t, os.Remove(filler))
	takeSnapshot(t, r)
	stopFlight(t, r)
	left := names(t, small)
	if len(left) != 1 {
		t.Fatalf("the folder holds %v", left)
	}
	isWindow(t, filepath.Join(small, left[0]), log)
	isWindow(t, file, log)
}

// On a full disk the oldest snapshots make room, and the newest one stays.
func TestOldSnapshotsMakeRoomOnAFullDisk(t *testing.T) {
	tools.NeedPrivilege(t)
	host, err := os.Hostname()
	must(t, err)
	dir, small := tools.DiskFolder(t), smallDisk(t, "8m")
	var old []string
	for i, size := range []int{256 << 10, 2 << 20, 512 << 10} {
		old = append(old, fmt.Sprintf("%s-20200101T00000%d.000Z.wprof", host, i))
		must(t, os.WriteFile(filepath.Join(small, old[i]), make([]byte, size), 0o600))
	}
	_ = fill(t, small, 4<<10)
	r := tools.Start(t, "-F1s", "--no-stacks", "--no-self", "-n", "steady*", "--keep", small, "-o", filepath.Join(dir, "x.wprof"))
	_ = steadyNamed(t)
	time.Sleep(time.Second)
	takeSnapshot(t, r)
	stopFlight(t, r)
	if text := r.Stderr.String(); !strings.Contains(text, "the disk is full: 2 old snapshots made room for the next one by being removed") || strings.Contains(text, "failed") {
		t.Errorf("it says %s", text)
	}
	left := slices.DeleteFunc(names(t, small), func(name string) bool { return name == "filler" })
	if len(left) != 2 || !slices.Contains(left, old[2]) {
		t.Fatalf("the folder holds %v, want %s and the new one", left, old[2])
	}
	if s := whole(t, filepath.Join(small, left[1])); s.close-s.open != time.Second.Nanoseconds() {
		t.Errorf("the window is %d ns long, want a second", s.close-s.open)
	}
}

func TestRecordingEndsAfterItsLastSnapshot(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	r := tools.Start(t, "-F500ms", "--no-stacks", "--snapshot-count=2", "-o", filepath.Join(dir, "x.wprof"))
	takeSnapshot(t, r)
	takeSnapshot(t, r)
	if status := r.Wait(); status != 0 {
		t.Errorf("status %d: %s", status, r.Stderr.String())
	}
	if left := names(t, dir); !slices.Equal(left, []string{"x.1.wprof", "x.2.wprof", "x.wprof"}) {
		t.Errorf("the folder holds %v", left)
	}
}

// Triggers that come while the last snapshot is written do not lead to another one.
func TestLastSnapshotOfAStormIsTheLastOne(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	r := tools.Start(t, "-F500ms", "--no-stacks", "-U", "tp:sched:sched_switch | id:any, limit:1000 |", "--snapshot-on=any", "--snapshot-count=1", "-o", filepath.Join(dir, "x.wprof"))
	if status := r.Wait(); status != 0 {
		t.Errorf("status %d: %s", status, r.Stderr.String())
	}
	if left := names(t, dir); !slices.Equal(left, []string{"x.1.wprof", "x.wprof"}) {
		t.Errorf("the folder holds %v", left)
	}
}

// A condition that can never hold is refused, and not waited for.
func TestConditionsThatNeverHoldAreRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	for probe, want := range map[string]string{
		"tp:sched:sched_switch | id:it |":                "--snapshot-on slow:it>50ms: the events of this probe are no spans, as those of uspan: and of two probes with ~~ are",
		"kspan:do_sys_openat2 | id:it, count |":          "--snapshot-on slow:it>50ms: events of this probe are counted in the kernel, where no condition is; counter:it>1000/s is one on their number",
		"tp:sched:sched_switch | id:it, count, by:cpu |": "--snapshot-on slow:it>50ms: events of this probe are counted in the kernel, where no condition is; counter:it>1000/s is one on their number",
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", "-F", "-U", probe, "--snapshot-on=slow:it>50ms", "-d100ms", "-o", filepath.Join(t.TempDir(), "x"))
		if said := string(r.Stderr); r.Status != 2 || said != "wprof-record: "+want+"\n" {
			t.Errorf("%s: status %d: %q, want 2: %q", probe, r.Status, said, want)
		}
	}
}

func TestConditionNeedsANameForItsSnapshots(t *testing.T) {
	r := tools.Try(t, time.Minute, nil, "wprof-record", "-F", "--snapshot-on=crash")
	want := "wprof-record: --snapshot-on: a snapshot has no name on standard output: give -o FILE or --keep FOLDER\n"
	if said := string(r.Stderr); r.Status != 2 || said != want {
		t.Errorf("status %d: %q, want 2: %q", r.Status, said, want)
	}
}

func TestServiceFileIsValid(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	text, err := os.ReadFile("../../docs/wprof-flight.service")
	must(t, err)
	file := filepath.Join(t.TempDir(), "wprof-flight.service")
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/wprof-record", tools.Path("wprof-record"))), 0o600))
	if said, err := exec.Command(verify, "verify", file).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("systemd-analyze verify: %v: %s", err, said)
	}
}
