//go:build linux

package ending

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		"-F 99":      "-F is the flight recorder: perf's -F 99 is --freq=99 here, or -S+timer=99hz",
		"-F99":       `--flight-recorder: "99" has no unit: 99s is a window of that length; perf's -F 99 is --freq=99 here, or -S+timer=99hz`,
		"-F99hz":     `--flight-recorder: "99hz" is no window like 1s: perf's -F 99hz is --freq=99hz here, or -S+timer=99hz`,
		"-F 2s":      "no space after -F: write -F2s",
		"-F1ms":      "--flight-recorder: the window must be at least 100ms, or 0 for no limit",
		"-F1s,1kb":   "--flight-recorder: the size must be at least 64mb, or 0 for no limit",
		"-F --live":  "--flight-recorder and --live contradict each other: what was written cannot be dropped",
		"-F1s,64mbs": `--flight-recorder: "64mbs" is not a size: the unit is one of b, kb, mb, gb, in powers of 1024`,
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", append(strings.Fields(typed), "-o", filepath.Join(t.TempDir(), "x"))...)
		if said := string(r.Stderr); r.Status != 2 || said != "wprof-record: "+want+"\n" {
			t.Errorf("%q: status %d: %q, want 2: %q", typed, r.Status, said, want)
		}
	}
}
