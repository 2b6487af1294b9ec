//go:build linux

package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A link in a folder that anyone may write to may lead anywhere, /dev/sda included.
func TestLinkToADeviceIsReplacedNotFollowed(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := command(t, "-o", link)
	cmd.Stdin = strings.NewReader("text")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if got, err := os.ReadFile(link); err != nil || string(got) != "text" {
		t.Errorf("the output is %q, %v", got, err)
	}
}

func TestDescriptorLinksAreWrittenThrough(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(target, []byte("a longer text from before"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(target, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd, stderr := command(t, "-o", "/proc/self/fd/3")
	cmd.Stdin = strings.NewReader("text")
	cmd.ExtraFiles = []*os.File{f}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if got, _ := os.ReadFile(target); string(got) != "text" {
		t.Errorf("the output is %q", got)
	}
}

func TestUnwritablePlacesAreFoundAtOnce(t *testing.T) {
	for _, path := range []string{"/nonexistent/out", "/proc/out", t.TempDir() + "/folder/"} {
		inv := &Invocation{Std: Std{Out: os.Stdout}}
		if _, err := inv.CreateOutput(path, false); err == nil || !strings.HasPrefix(err.Error(), "write "+path+": ") {
			t.Errorf("%s: %v, want an error that names it", path, err)
		}
	}
}

func TestFileOfAnotherUserInAStickyFolderIsRefusedAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act as two users")
	}
	dir, err := os.MkdirTemp("", "sticky")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tool := filepath.Join(dir, "tool")
	if out, err := exec.Command("cp", os.Args[0], tool).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "out"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := command(t, "--do=idle", "-o", filepath.Join(dir, "out"))
	cmd.Path = tool
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "belongs to another user") {
		t.Errorf("%v: %s", err, stderr)
	}
}

func TestFailedWriteNamesTheOutputAsItWasTyped(t *testing.T) {
	cmd, stderr := command(t, "-o", "/dev/full")
	cmd.Stdin = strings.NewReader("text")
	if err := cmd.Run(); err == nil || stderr.String() != "wprof-sample: write /dev/full: no space left on device; free some space, or write to another disk\n" {
		t.Errorf("%v: %q", err, stderr)
	}
	target := filepath.Join(t.TempDir(), "out")
	inv := &Invocation{Std: Std{Err: io.Discard}}
	out, err := inv.CreateOutput(target, true)
	if err != nil {
		t.Fatal(err)
	}
	out.Abort()
	if _, err := out.Write([]byte("text")); err == nil || err.Error() != "write "+target+": file already closed" {
		t.Errorf("after Abort: %v", err)
	}
}

func TestAbortAfterCommitDoesNothing(t *testing.T) {
	target := filepath.Join(t.TempDir(), strings.Repeat("n", 250))
	inv := &Invocation{Std: Std{Out: os.Stdout, Err: io.Discard}}
	out, err := inv.CreateOutput(target, true)
	if err != nil {
		t.Fatal(err)
	}
	if exists(target) {
		t.Error("the file is there before Commit")
	}
	if _, err := out.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	out.Abort()
	if got, _ := os.ReadFile(target); string(got) != "text" {
		t.Errorf("the output is %q", got)
	}
	if err := out.Commit(); err == nil {
		t.Error("a second Commit was no error")
	}
}

func TestStandardOutputMayBeARegularFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "redirected"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inv := &Invocation{Std: Std{Out: f}}
	out, err := inv.CreateOutput("-", true)
	if err != nil || !out.IsStdout() || !out.IsRegular() {
		t.Errorf("stdout %t, regular %t, %v; want both", out.IsStdout(), out.IsRegular(), err)
	}
}

func TestInputsAreOneStream(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for path, text := range map[string]string{a: "first ", b: "second"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, name, err := new(Invocation).OpenInputs(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(in); string(got) != "first second" || name != a+", "+b {
		t.Errorf("%s: %q", name, got)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	in, _, err = new(Invocation).OpenInputs(a)
	if _, isFile := in.(*os.File); err != nil || !isFile {
		t.Errorf("one file is a %T, %v; want an *os.File", in, err)
	}
	in.Close()
	if _, _, err := new(Invocation).OpenInputs(""); err == nil || err.Error() != `read "": the name of the file is empty` {
		t.Errorf("an empty name: %v", err)
	}
	for _, wrong := range []string{dir, a + ".missing"} {
		if _, _, err := new(Invocation).OpenInputs(a, wrong); err == nil || !strings.HasPrefix(err.Error(), "read "+wrong) {
			t.Errorf("%s: %v, want an error that names it", wrong, err)
		}
	}
}

// An empty input among several is an error.
func TestEmptyInputAmongSeveralIsAnError(t *testing.T) {
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "full"), filepath.Join(dir, "empty")
	for path, text := range map[string]string{full: "text", empty: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{full, empty}, {empty, full}, {empty, empty}} {
		if _, _, err := new(Invocation).OpenInputs(args...); err == nil || err.Error() != "read "+empty+": it is empty" {
			t.Errorf("%q: %v, want an error about the empty one", args, err)
		}
	}
	in, _, err := new(Invocation).OpenInputs(full, os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); string(got) != "text" || err == nil || err.Error() != os.DevNull+" is empty" {
		t.Errorf("got %q and %v, want the text and an error about %s", got, err, os.DevNull)
	}
}
