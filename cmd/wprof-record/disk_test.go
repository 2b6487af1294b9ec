//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// smallDisk is a folder with little room.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// fill leaves so many bytes free.
func fill(t *testing.T, dir string, leave int64) string {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "filler")
	if err := os.WriteFile(path, make([]byte, int64(stat.Bavail)*stat.Bsize-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func symbolize(t *testing.T, part, file string) (status int, said string) {
	t.Helper()
	cmd := exec.Command(tools.Path("wprof-symbolize"), part, "-o", file)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestDiskFullWhileFinalisingKeepsTheSpool(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := smallDisk(t, "96m")
	file := filepath.Join(dir, "x.wprof")
	load := workload(t, "yield", "60s")
	r := recorder(t, "-d60s", "-z0", "-o", file).start()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(file + ".part"); err == nil && info.Size() > 20<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the spool does not grow: %s", r.stderr.String())
		}
	}
	// The stream will be about half as long as the spool, which has to have room for its own end.
	_ = load.Process.Kill()
	time.Sleep(200 * time.Millisecond)
	filler := fill(t, dir, 4<<20)
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	status := r.wait()
	said := r.stderr.String()
	if status != 1 || !strings.Contains(said, "wprof-symbolize "+file+".part -o "+file) || !strings.Contains(said, "no space") {
		t.Errorf("status %d: %s", status, said)
	}
	if !strings.Contains(said, "tmpfs") {
		t.Errorf("not a word about the spool being in memory: %s", said)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if status, said := symbolize(t, file+".part", file); status != 0 {
		t.Errorf("wprof-symbolize: status %d: %s", status, said)
	}
	readFile(t, file)
}

func TestDiskFullWhileRecordingKeepsWhatIsThere(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := smallDisk(t, "4m")
	file := filepath.Join(dir, "x.wprof")
	workload(t, "yield", "60s")
	r := recorder(t, "-d60s", "-o", file).start()
	status := r.wait()
	if said := r.stderr.String(); status != 1 || !strings.Contains(said, "wprof-symbolize") || !strings.Contains(said, "no space") {
		t.Errorf("status %d: %s", status, said)
	}
	elsewhere := filepath.Join(t.TempDir(), "x.wprof")
	if status, said := symbolize(t, file+".part", elsewhere); status != 4 {
		t.Errorf("wprof-symbolize: status %d: %s", status, said)
	}
	if c := readFile(t, elsewhere); len(c.events) < 1000 {
		t.Errorf("only %d events were saved", len(c.events))
	}
}

func TestFullDiskOfTheSpoolKeepsWhatWasRecorded(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := recorder(t, "-d60s", "--", os.Args[0], "workload", "yield", "3s")
	r.cmd.Env = append(os.Environ(), "TMPDIR="+smallDisk(t, "4m"))
	r.cmd.Stdout = out
	if status := r.start().wait(); status != 125 {
		t.Errorf("status %d", status)
	}
	if text := r.stderr.String(); !strings.Contains(text, "ended early") || !strings.Contains(text, "set TMPDIR") {
		t.Errorf("it says %q", text)
	}
	if c := readFile(t, file); len(c.events) < 10_000 {
		t.Errorf("%d events were kept", len(c.events))
	}
}
