//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"wprof/test/tools"
)

func TestFirstSignalKeepsEverything(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := recorder(t, "-d60s", "-o", file).start()
		r.opened(file + ".part")
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if status := r.wait(); status != 0 {
			t.Errorf("%v: status %d: %s", sig, status, r.stderr.String())
		}
		if c := readFile(t, file); c.window() > 20*time.Second || len(c.events) == 0 {
			t.Errorf("%v: %d events in %v", sig, len(c.events), c.window())
		}
		if _, err := os.Stat(file + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: the spool is still there: %v", sig, err)
		}
	}
}

func TestClosedPipeEndsTheRecordingQuietly(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, live := range []bool{false, true} {
		args := []string{"-d60s"}
		if live {
			args = append(args, "--live")
		}
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r := recorder(t, args...)
		r.cmd.Stdout = in
		r.start()
		in.Close()
		time.Sleep(700 * time.Millisecond)
		begin := time.Now()
		out.Close()
		if status := r.wait(); status != 128+13 || r.stderr.String() != "" {
			t.Errorf("live %v: status %d: %q", live, status, r.stderr.String())
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("live %v: it ended %v after the pipe", live, took)
		}
	}
}

func TestClosedPipeLeavesTheCommandItsStatus(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flags := range [][]string{nil, {"--live"}} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		runs := filepath.Join(t.TempDir(), "runs")
		r := recorder(t, append(flags, "--", "sh", "-c", `: > "$0"; sleep 0.7; yes | head -n1; exit 6`, runs)...)
		r.cmd.Stdout = in
		r.start()
		in.Close()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(runs); err == nil {
				break
			}
		}
		out.Close()
		// The command's own pipes must still end by SIGPIPE: head's end has to end yes without a word.
		if status := r.wait(); status != 6 || r.stderr.String() != "y\n" {
			t.Errorf("%v: status %d: %q", flags, status, r.stderr.String())
		}
	}
}

func TestTwoRecordersAtOnce(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	first := recorder(t, "-d2s", "-o", one).start()
	first.opened(one + ".part")
	same := recorder(t, "-d1s", "-o", one).start()
	if status := same.wait(); status != 1 || !strings.Contains(same.stderr.String(), "another wprof-record") {
		t.Errorf("a second recorder with the same output: status %d: %s", status, same.stderr.String())
	}
	second := recorder(t, "-d300ms", "-o", two).start()
	for _, r := range []*run{second, first} {
		if status := r.wait(); status != 0 {
			t.Errorf("status %d: %s", status, r.stderr.String())
		}
	}
	readFile(t, one)
	readFile(t, two)
}

func TestKilledRecorderLeavesNothingAttachedAndASpoolToFinish(t *testing.T) {
	tools.NeedPrivilege(t)
	before := loadedPrograms(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "-d60s", "-o", file).start()
	r.opened(file + ".part")
	if added := slices.DeleteFunc(loadedPrograms(t), func(id ebpf.ProgramID) bool { return slices.Contains(before, id) }); len(added) < 5 {
		t.Fatalf("while recording there are %d new kernel programs", len(added))
	}
	// Past a cut of generations, so that the spool has one.
	time.Sleep(2500 * time.Millisecond)
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait()
	if left := programsGone(t, before); len(left) > 0 {
		t.Errorf("kernel programs are still there: %v", left)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is an output: %v", err)
	}
	if status, said := symbolize(t, file+".part", file); status != 4 {
		t.Errorf("wprof-symbolize: status %d, want 4: %s", status, said)
	}
	if c := readFile(t, file); c.window() < 2*time.Second || len(c.events) == 0 {
		t.Errorf("recovered %d events in %v", len(c.events), c.window())
	}
}

// loadedPrograms are all kernel programs on this machine.
func loadedPrograms(t *testing.T) []ebpf.ProgramID {
	t.Helper()
	var all []ebpf.ProgramID
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, next)
		id = next
	}
}

// programsGone waits until there are no more programs than before; the kernel frees them after a grace period. Other
// tests may load programs meanwhile, so that only those with the recorder's names count.
func programsGone(t *testing.T, before []ebpf.ProgramID) []string {
	t.Helper()
	var left []string
	for range 50 {
		left = nil
		for _, id := range loadedPrograms(t) {
			if slices.Contains(before, id) {
				continue
			}
			if name := programName(id); strings.HasPrefix(name, "sched_") || name == "tasks" || name == "task_rename" {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return left
}

func programName(id ebpf.ProgramID) string {
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return ""
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return ""
	}
	return info.Name
}
