//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		t.Errorf("it prints %q", text)
	}
	if c := readFile(t, file); len(c.events) < 10_000 {
		t.Errorf("%d events were kept", len(c.events))
	}
}
