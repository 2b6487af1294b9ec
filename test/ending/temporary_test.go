//go:build linux

package ending

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// TestDiskFullOfATemporaryFile: a pipe is read through one, whose folder is full here.
func TestDiskFullOfATemporaryFile(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps(t)
	capture := tools.Run(t, "wprof-record", "-d1s", "-z0", "-Sall", "--offcpu-min=0")
	dir, out := smallDisk(t, "64k"), filepath.Join(t.TempDir(), "out.json")
	for _, args := range [][]string{{}, {"-o", out}, {"--array"}} {
		cmd := exec.Command(tools.Path("wprof-json"), args...)
		cmd.Env, cmd.Stdin = append(os.Environ(), "TMPDIR="+dir), bytes.NewReader(capture)
		var written bytes.Buffer
		cmd.Stdout = &written
		got, said := status(t, cmd)
		if got != 1 || written.Len() > 0 {
			t.Errorf("wprof-json %v: status %d, %d bytes of output", args, got, written.Len())
		}
		oneSentence(t, said, "wprof-json", "no space left on device", dir, "$TMPDIR", "--stream")
		if left := append(names(t, dir), names(t, filepath.Dir(out))...); len(left) > 0 {
			t.Errorf("wprof-json %v leaves %v", args, left)
		}
	}
	// Tools that need no temporary file are not affected.
	cmd := exec.Command(tools.Path("wprof-json"), "--stream")
	cmd.Env, cmd.Stdin = append(os.Environ(), "TMPDIR="+dir), bytes.NewReader(capture)
	if got, said := status(t, cmd); got != 0 || said != "" {
		t.Errorf("wprof-json --stream: status %d: %s", got, said)
	}
}

// TestSignalsWhileAPipeIsRead: the first one is the recorder's, the second one ends the tool, and nothing is left.
func TestSignalsWhileAPipeIsRead(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := tools.Run(t, "wprof-record", "-d200ms")
	for _, flags := range []string{"", "--stream", "--array"} {
		for _, c := range []struct {
			signals []unix.Signal
			status  int
		}{{[]unix.Signal{unix.SIGINT}, 0}, {[]unix.Signal{unix.SIGTERM}, 0}, {[]unix.Signal{unix.SIGINT, unix.SIGINT}, 130}} {
			t.Run(flags, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				cmd := exec.Command(tools.Path("wprof-json"), append(strings.Fields(flags), "-o", filepath.Join(dir, "out.json"))...)
				stderr := new(tools.Buffer)
				cmd.Stderr, cmd.Env = stderr, append(os.Environ(), "TMPDIR="+dir)
				in, err := cmd.StdinPipe()
				must(t, err)
				must(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				_, err = in.Write(capture[:len(capture)/2])
				must(t, err)
				until(t, "it waits for the rest", func() bool { return inSyscall(cmd.Process.Pid, unix.SYS_READ, 0) || isPolling(cmd.Process.Pid) })
				for _, s := range c.signals {
					must(t, cmd.Process.Signal(s))
					time.Sleep(200 * time.Millisecond)
				}
				if c.status == 0 {
					_, err = io.Copy(in, bytes.NewReader(capture[len(capture)/2:]))
					must(t, err)
				}
				in.Close()
				_ = cmd.Wait()
				if got := tools.Status(cmd.ProcessState); got != c.status {
					t.Errorf("after %v: status %d, want %d: %s", c.signals, got, c.status, stderr)
				}
				want := 0
				if c.status == 0 {
					want = 1
				}
				if left := names(t, dir); len(left) != want {
					t.Errorf("after %v the folder holds %v", c.signals, left)
				}
			})
		}
	}
}

// isPolling reports whether the process has a thread that waits for descriptors.
func isPolling(pid int) bool {
	return inSyscall(pid, unix.SYS_SPLICE, 0) || inSyscall(pid, unix.SYS_COPY_FILE_RANGE, 0)
}
