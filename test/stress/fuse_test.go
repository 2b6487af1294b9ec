//go:build linux

package stress

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/fuse"
	"wprof/test/tools"
)

// TestFileSystemThatDoesNotRespondCostsItsOwnNamesOnly: the stream is complete, and its reader has it, before anything
// uninterruptible begins.
func TestFileSystemThatDoesNotRespondCostsItsOwnNamesOnly(t *testing.T) {
	tools.NeedPrivilege(t)
	content, err := os.ReadFile(tools.Path("burns"))
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	path, _ := fuse.Mount(t, content, func(fuse.Request) bool { return hangs.Load() })
	// Not by Go's fork, which keeps this process, the file system's server, from running until the exec.
	tools.StartWorkload(t, exec.Command("sh", "-c", `exec "$0"`, path)).Until("ready")
	tools.StartWorkload(t, exec.Command(tools.Path("burns"))).Until("ready")
	hangs.Store(true)

	cmd := exec.Command(tools.Path("wprof-record"), "-d1s")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answer := func() { _ = unix.Unmount(filepath.Dir(path), unix.MNT_FORCE|unix.MNT_DETACH) }
	late := time.AfterFunc(2*time.Minute, answer)
	stream, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if !late.Stop() {
		t.Error("the stream, or standard error, does not end before the file system answers")
	}
	answer()
	_ = cmd.Wait()
	if status := tools.Status(cmd.ProcessState); status != 0 {
		t.Errorf("status %d", status)
	}
	if text := string(said); !strings.Contains(text, "the file system of "+path+" does not respond") || strings.Contains(text, "naming of functions was ended") {
		t.Errorf("the recorder said:\n%s", text)
	}
	folded := tools.Try(t, time.Minute, stream, "wprof-flame", "--folded")
	if folded.Status != 0 || !bytes.Contains(folded.Stdout, []byte(";burn")) {
		t.Errorf("status %d: %s; functions of other files have no names:\n%s", folded.Status, folded.Stderr, folded.Stdout)
	}
}
