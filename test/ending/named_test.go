//go:build linux

package ending

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// named is a command on file systems that have no files without a name.
func named(tool string, args ...string) *exec.Cmd {
	return exec.Command(tools.Path("onlynames"), append([]string{tools.Path(tool)}, args...)...)
}

// hidden are the temporary names in a folder.
func hidden(t testing.TB, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(names(t, dir), func(name string) bool {
		return !strings.HasPrefix(name, ".x.") || !strings.HasSuffix(name, ".tmp")
	})
}

// waiting starts a tool that has read a capture and waits for more, and returns when its output has a temporary name.
func waiting(t *testing.T, capture []byte, file string) (cmd *exec.Cmd, in io.Closer, stderr *tools.Buffer) {
	t.Helper()
	cmd, stderr = named("wprof-filter", "-o", file), new(tools.Buffer)
	cmd.Stderr = stderr
	pipe, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, err = pipe.Write(capture)
	must(t, err)
	until(t, "the output has a temporary name", func() bool { return len(hidden(t, filepath.Dir(file))) == 1 })
	info, err := os.Stat(filepath.Join(filepath.Dir(file), hidden(t, filepath.Dir(file))[0]))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the temporary file is %v, %v", info, err)
	}
	return cmd, pipe, stderr
}

// TestTemporaryNamesGo, however a tool ends: the file system has no files without a name.
func TestTemporaryNamesGo(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := tools.Run(t, "wprof-record", "-d200ms")
	t.Run("done", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "x.wprof")
		cmd, in, stderr := waiting(t, capture, file)
		must(t, in.Close())
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
		whole(t, file)
		if left := names(t, filepath.Dir(file)); !slices.Equal(left, []string{"x.wprof"}) {
			t.Errorf("the folder holds %v", left)
		}
	})
	t.Run("ended by a signal", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "x.wprof")
		must(t, os.WriteFile(file, []byte("old"), 0o600))
		cmd, _, stderr := waiting(t, capture, file)
		// It reads a pipe: the first one only counts.
		must(t, cmd.Process.Signal(unix.SIGINT))
		must(t, cmd.Process.Signal(unix.SIGTERM))
		_ = cmd.Wait()
		if got := tools.Status(cmd.ProcessState); got != 130 && got != 143 {
			t.Errorf("status %d: %s", got, stderr)
		}
		if text, err := os.ReadFile(file); string(text) != "old" || len(names(t, filepath.Dir(file))) != 1 {
			t.Errorf("the folder holds %v, and the file %.20q, %v", names(t, filepath.Dir(file)), text, err)
		}
	})
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		dir, in := smallDisk(t, "8k"), filepath.Join(t.TempDir(), "in")
		must(t, os.WriteFile(in, capture, 0o600))
		if got, said := status(t, named("wprof-filter", "-z0", in, "-o", filepath.Join(dir, "x.wprof"))); got != 1 || !strings.Contains(said, "no space left") {
			t.Errorf("status %d: %s", got, said)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("the folder holds %v", left)
		}
	})
	t.Run("a folder in its place", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "x.wprof")
		cmd, in, stderr := waiting(t, capture, file)
		must(t, os.Mkdir(file, 0o700))
		must(t, in.Close())
		_ = cmd.Wait()
		if got := tools.Status(cmd.ProcessState); got != 1 || !strings.Contains(stderr.String(), "write "+file+": file exists") {
			t.Errorf("status %d: %s", got, stderr)
		}
		if left := names(t, filepath.Dir(file)); !slices.Equal(left, []string{"x.wprof"}) {
			t.Errorf("the folder holds %v", left)
		}
	})
}

// TestSpoolsWithNames: the same of the recorder. Its spool has a name at once, or loses it at once.
func TestSpoolsWithNames(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Run("beside a file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		file := filepath.Join(dir, "x.wprof")
		must(t, os.WriteFile(file+".part", []byte("an old one"), 0o600))
		got, said := status(t, named("wprof-record", "-d300ms", "-o", file))
		if got != 0 || !strings.Contains(said, "an older spool was moved to "+file+".part.1") {
			t.Errorf("status %d: %s", got, said)
		}
		whole(t, file)
		if left := names(t, dir); !slices.Equal(left, []string{"x.wprof", "x.wprof.part.1"}) {
			t.Errorf("the folder holds %v", left)
		}
	})
	t.Run("beside a file that cannot be written", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		file := filepath.Join(dir, "x.wprof")
		var stderr tools.Buffer
		cmd := named("wprof-record", "-d1s", "-o", file)
		cmd.Stderr = &stderr
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		until(t, "there is a spool", func() bool { return slices.Contains(names(t, dir), "x.wprof.part") })
		must(t, os.Mkdir(file, 0o700))
		_ = cmd.Wait()
		if got := tools.Status(cmd.ProcessState); got != 1 {
			t.Errorf("status %d", got)
		}
		oneSentence(t, stderr.String(), "wprof-record", "write "+file+": file exists", "wprof-symbolize "+file+".part -o "+file)
		if left := names(t, dir); !slices.Equal(left, []string{"x.wprof", "x.wprof.part"}) {
			t.Errorf("the folder holds %v", left)
		}
		must(t, os.Remove(file))
		if r := promised(t, stderr.String(), ""); r.Status != 0 {
			t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
		}
		whole(t, file)
	})
	t.Run("of a pipe", func(t *testing.T) {
		t.Parallel()
		spools := t.TempDir()
		var stdout, stderr tools.Buffer
		cmd := named("wprof-record", "-v", "-d500ms")
		cmd.Env = append(os.Environ(), "TMPDIR="+spools)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		until(t, "the window is open", func() bool { return strings.Contains(stderr.String(), "window open") })
		if left := names(t, spools); len(left) > 0 {
			t.Errorf("the folder for spools holds %v", left)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, stderr.String())
		}
		if s := readDepartures(t, strings.NewReader(stdout.String())); s.events < 10 {
			t.Errorf("%d events", s.events)
		}
	})
	t.Run("of a full disk", func(t *testing.T) {
		t.Parallel()
		stamps(t)
		dir, spools := smallDisk(t, "64k"), t.TempDir()
		out, err := os.Create(filepath.Join(dir, "x.wprof"))
		must(t, err)
		defer out.Close()
		cmd := named("wprof-record", "-d1s", "-z0", "-Sall", "--offcpu-min=0")
		cmd.Stdout, cmd.Env = out, append(os.Environ(), "TMPDIR="+spools)
		got, said := status(t, cmd)
		if got != 1 {
			t.Errorf("status %d", got)
		}
		oneSentence(t, said, "wprof-record", "no space left on device", "wprof-symbolize "+spools+"/wprof-")
		if left := names(t, spools); len(left) != 1 {
			t.Errorf("the folder for spools holds %v", left)
		}
		file := filepath.Join(t.TempDir(), "x.wprof")
		if r := promised(t, said, file); r.Status != 0 {
			t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
		}
		whole(t, file)
	})
}
