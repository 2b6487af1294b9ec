//go:build linux

package loss

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// stoppableDisk is a file system of its own, in a file.
func stoppableDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	image, disk := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"truncate", "-s", "200M", image}, {"mkfs.ext4", "-q", image}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	if out, err := exec.Command("mount", "-o", "loop", image, disk).CombinedOutput(); err != nil {
		t.Skipf("a file cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	return disk
}

// stop has every write to a file system wait until the function that it returns is called.
func stop(t *testing.T, disk string) (resume func()) {
	t.Helper()
	dir, err := os.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	const freeze, thaw = 0xC0045877, 0xC0045878 // FIFREEZE, FITHAW
	if err := unix.IoctlSetInt(int(dir.Fd()), freeze, 0); err != nil {
		t.Fatalf("freeze a file system: %v", err)
	}
	resume = func() { _ = unix.IoctlSetInt(int(dir.Fd()), thaw, 0) }
	t.Cleanup(resume)
	return resume
}

// The events are five times as many as the rings hold.
func TestNothingIsLostWhileTheDiskAcceptsNoWrites(t *testing.T) {
	tools.NeedPrivilege(t)
	disk := stoppableDisk(t)
	w := workloadOf(t, "pingpong", 60_000, 0)
	file := filepath.Join(disk, "x.wprof")
	r := tools.Start(t, "-d0", "-p", w.PIDText(), "--no-stacks", "--ringbuf-size", "1mb", "-o", file)
	resume := stop(t, disk)
	w.Send("\n")
	did := players(t, w.Until("done"))
	resume()
	w.WaitAsleep()
	if status := r.Stop(); status != 0 {
		t.Fatalf("status %d: %s", status, r.Stderr.String())
	}
	t.Log(r.Stderr.String())
	sameAsCounted(t, read(t, file), did)
}

func TestDiskThatAcceptsNoWritesIsReported(t *testing.T) {
	tools.NeedPrivilege(t)
	disk := stoppableDisk(t)
	r := tools.Start(t, "-d0", "-o", filepath.Join(disk, "x.wprof"))
	resume := stop(t, disk)
	const said = "x.wprof.part has accepted no writes for 3 seconds"
	for end := time.Now().Add(time.Minute); !strings.Contains(r.Stderr.String(), said) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	resume()
	if status := r.Stop(); status != 0 {
		t.Errorf("status %d", status)
	}
	if n := strings.Count(r.Stderr.String(), said); n != 1 {
		t.Errorf("it is said %d times that the disk takes nothing: %s", n, r.Stderr.String())
	}
}
