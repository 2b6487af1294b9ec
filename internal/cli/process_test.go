//go:build linux

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests below run this test binary again as a small tool, because signals, terminals and closed pipes belong to a
// whole process.
func TestMain(m *testing.M) {
	if os.Getenv("CLI_TEST_TOOL") != "" {
		Main(processTool())
	}
	os.Exit(m.Run())
}

func processTool() Tool {
	return Tool{
		Name: "wprof-sample", Groups: []Group{{Flags: []Flag{
			{Name: "output", Aliases: []string{"o"}, Kind: String},
			{Name: "do", Kind: String, Default: "copy", Choices: []string{"copy", "fail", "idle", "stop", "hook", "closed", "flood", "count"}},
			{Name: "mark", Kind: String},
		}}},
		Run: runProcessTool,
	}
}

func runProcessTool(inv *Invocation) error {
	if mark := inv.String("mark"); mark != "" {
		inv.OnAbort(func() {
			// Long enough for the tool to fail on the output that was aborted before this.
			time.Sleep(100 * time.Millisecond)
			_ = os.WriteFile(mark, nil, 0o600)
		})
	}
	if inv.String("do") == "stop" {
		inv.HandleStop()
		inv.say("ready\n")
		<-inv.Stopped()
		inv.say("stopped\n")
		time.Sleep(10 * time.Second)
		return nil
	}
	closed := make(chan struct{})
	if inv.String("do") == "hook" {
		inv.OnDownstreamClosed(func() { close(closed) })
	}
	out, err := inv.CreateOutput(inv.String("output"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	switch inv.String("do") {
	case "idle":
		inv.say("ready\n")
		time.Sleep(20 * time.Second)
	case "hook":
		inv.say("ready\n")
		<-closed
		_, err := out.Write([]byte("text"))
		inv.say(fmt.Sprintf("closed %t\n", errors.Is(err, unix.EPIPE)))
		return nil
	case "closed":
		time.Sleep(100 * time.Millisecond) // until the output is being polled
		err := out.Commit()
		inv.say("ready\n")
		time.Sleep(20 * time.Second)
		return err
	case "flood":
		inv.say("ready\n")
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	}
	in, _, err := inv.OpenInputs(inv.Args...)
	if err != nil {
		return err
	}
	if inv.String("do") == "count" {
		inv.say("ready\n")
		go func() {
			<-inv.Stopped()
			inv.say("stopped\n")
		}()
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if inv.String("do") == "fail" {
		return Failf("it failed on purpose")
	}
	return out.Commit()
}

// say prints a line for the test, without the name of the tool before it.
func (inv *Invocation) say(s string) { io.WriteString(inv.Std.Err, s) }

func command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "CLI_TEST_TOOL=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// ready starts a command and waits until it has printed something.
func ready(t *testing.T, cmd *exec.Cmd) (said *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	expect(t, r, "ready\n")
	t.Cleanup(func() { _ = cmd.Process.Kill(); r.Close() })
	return r
}

func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	buf := make([]byte, len(want))
	if _, err := io.ReadFull(r, buf); err != nil || string(buf) != want {
		t.Fatalf("the tool said %q (%v), want %q", buf, err, want)
	}
}

func endedBy(err error) syscall.Signal {
	if e, ok := err.(*exec.ExitError); ok {
		if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal()
		}
	}
	return 0
}

func TestSecondSignalEndsTheToolByIt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd, _ := command(t, "--do=stop")
		said := ready(t, cmd)
		_ = cmd.Process.Signal(sig)
		expect(t, said, "stopped\n")
		time.Sleep(2 * oneSignal)
		_ = cmd.Process.Signal(sig)
		if got := endedBy(cmd.Wait()); got != sig {
			t.Errorf("ended by %v, want %v", got, sig)
		}
	}
}

// TestQuitEndsAToolAtOnce, also one that would go on after the first of the other signals.
func TestQuitEndsAToolAtOnce(t *testing.T) {
	for _, do := range []string{"stop", "idle"} {
		dir := t.TempDir()
		cmd, _ := command(t, "--do="+do, "-o", filepath.Join(dir, "out"))
		said := ready(t, cmd)
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGQUIT) {
			t.Errorf("%s: exit status %d, want 131", do, got)
		}
		if text, _ := io.ReadAll(said); len(text) > 0 {
			t.Errorf("%s: it says %.100q", do, text)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: left behind: %v", do, left)
		}
	}
}

func TestClosedPipeEndsAnIdleToolQuietly(t *testing.T) {
	cmd, _ := command(t, "--do=idle")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	ready(t, cmd)
	w.Close()
	r.Close()
	began := time.Now()
	if got := endedBy(cmd.Wait()); got != syscall.SIGPIPE || time.Since(began) > 5*time.Second {
		t.Errorf("ended by %v after %v, want SIGPIPE at once", got, time.Since(began))
	}
}

func TestInterruptedToolLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := command(t, "--do=idle", "-o", filepath.Join(dir, "out"))
	ready(t, cmd)
	_ = cmd.Process.Signal(syscall.SIGINT)
	if got := endedBy(cmd.Wait()); got != syscall.SIGINT {
		t.Errorf("ended by %v, want SIGINT", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOutputAppearsCompleteOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(elsewhere, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := command(t, "--do=fail", "-o", filepath.Join(dir, "failed"))
	cmd.Stdin = strings.NewReader("text")
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "on purpose") {
		t.Errorf("the failing tool ended with %v: %s", err, stderr)
	}
	cmd, stderr = command(t, "-o", link)
	cmd.Stdin = strings.NewReader("text")
	cmd.Env = append(cmd.Env, "SUDO_UID=1234", "SUDO_GID=4321")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if got, _ := os.ReadFile(elsewhere); string(got) != "precious" {
		t.Errorf("the link was followed: %q", got)
	}
	var st unix.Stat_t
	if err := unix.Lstat(link, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o777 != 0o600 {
		t.Errorf("the output has mode %o, %v; want a regular file with 600", st.Mode, err)
	}
	if os.Getuid() == 0 && (st.Uid != 1234 || st.Gid != 4321) {
		t.Errorf("the output belongs to %d:%d, want 1234:4321", st.Uid, st.Gid)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("the folder holds %v, want the two files", left)
	}
}

func TestDevicesAreSimplyWritten(t *testing.T) {
	cmd, stderr := command(t, "-o", "/dev/null")
	cmd.Stdin = strings.NewReader("text")
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("/dev/null is %v, %v", info.Mode(), err)
	}
	cmd, stderr = command(t, "-o", t.TempDir())
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "it is a folder") {
		t.Errorf("a folder as output: %v, %s", err, stderr)
	}
}

func TestTerminalAsBinaryOutputIsRefused(t *testing.T) {
	_, tty := terminal(t)
	cmd, stderr := command(t)
	cmd.Stdout = tty
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != ExitUsage || !strings.Contains(stderr.String(), "-o FILE") {
		t.Errorf("%v: %s", err, stderr)
	}
	cmd, stderr = command(t)
	cmd.Stdin = tty
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != ExitUsage || !strings.Contains(stderr.String(), "standard input is a terminal") {
		t.Errorf("%v: %s", err, stderr)
	}
}
