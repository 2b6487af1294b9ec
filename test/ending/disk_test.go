//go:build linux

package ending

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// smallDisk is a file system with little room.
func smallDisk(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// spin keeps a CPU busy, so that a recording with many samples a second fills any disk here in seconds.
func spin(t testing.TB) (flags []string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return []string{"-d100s", "-Sall", "-Stimer=5khz", "--offcpu-min=0"}
}

// fill writes a file that leaves that many bytes free, and can be removed.
func fill(t testing.TB, dir string, leave int64) (filler string) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	filler = filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, int64(stat.Bavail)*stat.Bsize-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return filler
}

// oneSentence checks a message: one line, by that tool, with these words.
func oneSentence(t testing.TB, said, tool string, words ...string) {
	t.Helper()
	lines := slices.DeleteFunc(strings.SplitAfter(said, "\n"), func(line string) bool {
		return line == "" || strings.Contains(line, "window open") || strings.Contains(line, "is on a tmpfs") || strings.Contains(line, "look cut") ||
			strings.Contains(line, ": recorded ") || strings.Contains(line, "the generated code of ") // of other programs of this machine
	})
	if len(lines) != 1 || !strings.HasPrefix(lines[0], tool+": ") {
		t.Errorf("it says %q, want one sentence", said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("it says %q, want a word about %q", said, word)
		}
	}
}

// promised runs the command that a message names, for another output if there is one to be chosen.
func promised(t testing.TB, said, output string) tools.Result {
	t.Helper()
	_, command, found := strings.Cut(said, "run wprof-symbolize ")
	if !found {
		t.Fatalf("it names no command: %q", said)
	}
	words := strings.Fields(strings.Split(command, "\n")[0])
	if len(words) != 3 || words[1] != "-o" {
		t.Fatalf("it names this command: %q", command)
	}
	if words[2] == "FILE" {
		words[2] = output
	}
	return tools.Try(t, time.Minute, nil, "wprof-symbolize", words...)
}

// whole checks that a capture is there, and sound.
func whole(t testing.TB, file string) *departures {
	t.Helper()
	if r := tools.Try(t, time.Minute, nil, "wprof-info", "--check", file); r.Status != 0 {
		t.Errorf("wprof-info --check: status %d: %s%s", r.Status, r.Stdout, r.Stderr)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readDepartures(t, f)
}

// limited is a command under a limit on the length of files, in KiB.
func limited(kib string, tool string, args ...string) *exec.Cmd {
	return exec.Command("bash", append([]string{"-c", `ulimit -f "$0" && exec "$@"`, kib, tools.Path(tool)}, args...)...)
}

// status runs a command to its end and returns how it ended and what it said.
func status(t testing.TB, cmd *exec.Cmd) (int, string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	return tools.Status(cmd.ProcessState), stderr.String()
}

func TestDiskFullWhileSpooling(t *testing.T) {
	tools.NeedPrivilege(t)
	for name, args := range map[string][]string{"later": nil, "live": {"--live"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stamps := stamps(t)
			size := "4m"
			if args != nil {
				size = "8m" // a live spool gives room back as it grows
			}
			dir := smallDisk(t, size)
			file := filepath.Join(dir, "x.wprof")
			got, said := status(t, exec.Command(tools.Path("wprof-record"), append(append(spin(t), args...), "-o", file)...))
			if got != 1 {
				t.Errorf("status %d", got)
			}
			oneSentence(t, said, "wprof-record", "no space left on device", "free some space, or write to another disk", "wprof-symbolize "+file+".part -o "+file)
			if left := names(t, dir); !slices.Equal(left, []string{"x.wprof.part"}) {
				t.Errorf("the folder holds %v", left)
			}
			if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
				t.Fatal(err)
			}
			// Of a live recording the output may have met the end of the disk first, and the spool have its end.
			if r := promised(t, said, ""); r.Status != 4 && (args == nil || r.Status != 0) {
				t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
			}
			if n := whole(t, file).compare(t, readStamps(t, stamps)); n < 100 {
				t.Errorf("%d departures could be compared", n)
			}
		})
	}
}

func TestFileSizeLimitWhileSpooling(t *testing.T) {
	tools.NeedPrivilege(t)
	for name, args := range map[string][]string{"later": nil, "live": {"--live"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stamps := stamps(t)
			dir := t.TempDir()
			file := filepath.Join(dir, "x.wprof")
			got, said := status(t, limited("4000", "wprof-record", append(append(spin(t), args...), "-o", file)...))
			// The limit is each file's own: the result is shorter than the spool.
			if got != 1 {
				t.Errorf("status %d", got)
			}
			oneSentence(t, said, "wprof-record", "file too large", "ended early", "raise the limit on the length of files (ulimit -f)")
			if left := names(t, dir); !slices.Equal(left, []string{"x.wprof"}) {
				t.Errorf("the folder holds %v", left)
			}
			s := whole(t, file)
			if s.cut != s.close {
				t.Errorf("the stream says that it ended early at %d, it closes at %d", s.cut, s.close)
			}
			if n := s.compare(t, readStamps(t, stamps)); n < 100 {
				t.Errorf("%d departures could be compared", n)
			}
		})
	}
}

// TestDiskFullOfALiveStreamsSpool: what has been written is whole, and both the message and the stream say that it ended early.
func TestDiskFullOfALiveStreamsSpool(t *testing.T) {
	tools.NeedPrivilege(t)
	stamps := stamps(t)
	// Too small for what is given back at once.
	spools := smallDisk(t, "4m")
	t.Setenv("TMPDIR", spools)
	r := tools.Start(t, append(spin(t), "--live")...)
	if got := r.Wait(); got != 1 {
		t.Errorf("status %d", got)
	}
	said := r.Stderr.String()
	oneSentence(t, said, "wprof-record", "ended early", "no space left on device", "set TMPDIR to a folder on a larger disk", ": recorded ")
	if left := names(t, spools); len(left) > 0 {
		t.Errorf("the spool's folder holds %v", left)
	}
	s := readDepartures(t, strings.NewReader(r.Stdout.String()))
	if s.cut != s.close || s.close-s.open > 90e9 {
		t.Errorf("the stream says that it ended early at %d, it closes at %d", s.cut, s.close)
	}
	if n := s.compare(t, readStamps(t, stamps)); n < 100 {
		t.Errorf("%d departures could be compared", n)
	}
}

// TestDiskFullOfStandardOutput: there is no FILE.part then, and nothing is lost nevertheless.
func TestDiskFullOfStandardOutput(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps(t)
	dir, spools := smallDisk(t, "256k"), t.TempDir()
	out, err := os.Create(filepath.Join(dir, "x.wprof"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(tools.Path("wprof-record"), "-d1s", "-z0", "-Sall", "--offcpu-min=0")
	cmd.Stdout, cmd.Env = out, append(os.Environ(), "TMPDIR="+spools)
	got, said := status(t, cmd)
	if got != 1 {
		t.Errorf("status %d", got)
	}
	oneSentence(t, said, "wprof-record", "no space left on device", "free some space", "wprof-symbolize "+spools+"/wprof-")
	left := names(t, spools)
	if len(left) != 1 {
		t.Fatalf("the spool's folder holds %v", left)
	}
	if info, err := os.Stat(filepath.Join(spools, left[0])); err != nil || info.Mode() != 0o600 {
		t.Errorf("the spool is %v, %v", info, err)
	}
	file := filepath.Join(t.TempDir(), "x.wprof")
	if r := promised(t, said, file); r.Status != 0 {
		t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
	}
	if s := whole(t, file); s.events < 1000 {
		t.Errorf("%d events were kept", s.events)
	}
}

func TestDiskFullWhileRendering(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps(t)
	capture := filepath.Join(t.TempDir(), "x.wprof")
	tools.Run(t, "wprof-record", "-d1s", "-Sall", "--offcpu-min=0", "-o", capture)
	for _, c := range []struct {
		tool string
		args []string
	}{
		{"wprof-filter", []string{"-z0", "-o"}}, {"wprof-symbolize", []string{"-z0", "-o"}}, {"wprof-perfetto", []string{"-o"}},
		{"wprof-flame", []string{"--speedscope", "-o"}}, {"wprof-json", []string{"-o"}}, {"wprof-json", []string{"--stream", "-o"}},
		{"wprof-json", []string{"--chrome", "-o"}}, {"wprof-json", []string{"--firefox", "-o"}},
	} {
		full := append(append([]string{capture}, c.args...), "/dev/full")
		r := tools.Try(t, time.Minute, nil, c.tool, full...)
		if r.Status != 1 {
			t.Errorf("%s -o /dev/full: status %d", c.tool, r.Status)
		}
		oneSentence(t, string(r.Stderr), c.tool, "write /dev/full: no space left on device", "free some space")

		dir := smallDisk(t, "256k")
		old := filepath.Join(dir, "old")
		if err := os.WriteFile(old, []byte("what was there before"), 0o600); err != nil {
			t.Fatal(err)
		}
		r = tools.Try(t, time.Minute, nil, c.tool, append(append([]string{capture}, c.args...), old)...)
		if r.Status != 1 {
			t.Errorf("%s on a full disk: status %d", c.tool, r.Status)
		}
		oneSentence(t, string(r.Stderr), c.tool, "write "+old+": no space left on device", "free some space, or write to another disk")
		if text, err := os.ReadFile(old); string(text) != "what was there before" || len(names(t, dir)) != 1 {
			t.Errorf("%s on a full disk leaves %v, %.30q, %v", c.tool, names(t, dir), text, err)
		}

		limitedDir := t.TempDir()
		out := filepath.Join(limitedDir, "out")
		got, said := status(t, limited("100", c.tool, append(append([]string{capture}, c.args...), out)...))
		if got != 1 {
			t.Errorf("%s under a limit: status %d", c.tool, got)
		}
		if strings.Contains(said, "temporary file") { // the limit is one of its columns too, before they are written
			oneSentence(t, said, c.tool, "keep the columns of the profile", "file too large", "set TMPDIR")
		} else {
			oneSentence(t, said, c.tool, "write "+out+": file too large", "ulimit -f")
		}
		if left := names(t, limitedDir); len(left) > 0 {
			t.Errorf("%s under a limit leaves %v", c.tool, left)
		}
	}
	for _, tool := range []string{"wprof-info", "wprof-perfetto", "wprof-filter", "wprof-symbolize", "wprof-flame", "wprof-json"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(tools.Path(tool), capture)
		cmd.Stdout = full
		got, said := status(t, cmd)
		full.Close()
		if got != 1 {
			t.Errorf("%s > /dev/full: status %d", tool, got)
		}
		if want := tool + ": write standard output: no space left on device; free some space, or write to another disk\n"; said != want {
			t.Errorf("%s > /dev/full says %q, want %q", tool, said, want)
		}
	}
}

// isStopped reports whether no thread of a process runs, which a signal reaches one after the other.
func isStopped(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && !strings.Contains(string(text), ") T ") {
			return false
		}
	}
	return true
}

// TestDiskFullWhileFinalising fills the disk when the recording is there, and makes room again.
func TestDiskFullWhileFinalising(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps := stamps(t)
	dir := smallDisk(t, "128m")
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, append(spin(t), "-z0", "-o", file)...)
	until(t, "there is enough in the spool", func() bool {
		info, err := os.Stat(file + ".part")
		return err == nil && info.Size() > 10<<20
	})
	// Enough for the end of the spool, which the last rounds and the blocked threads need, and not for the result.
	r.Cmd.Process.Signal(syscall.SIGSTOP)
	until(t, "all of its threads are stopped", func() bool { return isStopped(r.Cmd.Process.Pid) })
	filler := fill(t, dir, 3<<20)
	r.Cmd.Process.Signal(syscall.SIGCONT)
	if got := r.Stop(); got != 1 {
		t.Errorf("status %d", got)
	}
	said := r.Stderr.String()
	oneSentence(t, said, "wprof-record", "wprof-record: write "+file+": no space left on device", "run wprof-symbolize "+file+".part -o "+file)
	if left := names(t, dir); !slices.Equal(left, []string{"filler", "x.wprof.part"}) {
		t.Errorf("the folder holds %v", left)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if r := promised(t, said, ""); r.Status != 0 && r.Status != 4 {
		t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
	}
	if n := whole(t, file).compare(t, readStamps(t, stamps)); n < 1000 {
		t.Errorf("%d departures could be compared", n)
	}
}
