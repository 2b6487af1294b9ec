//go:build linux

package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestToolThatReadsAPipeContinuesAfterTheFirstSignal(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	cmd, _ := command(t, "--do=count", "-o", target)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := ready(t, cmd)
	io.WriteString(in, "before ")
	_ = cmd.Process.Signal(syscall.SIGINT)
	expect(t, said, "stopped\n")
	io.WriteString(in, "after")
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the tool ended with %v", err)
	}
	if got, _ := os.ReadFile(target); string(got) != "before after" {
		t.Errorf("the output is %q, want all of the input", got)
	}
}

func TestSecondSignalEndsAToolThatReadsAPipe(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := command(t, "--do=count", "-o", filepath.Join(dir, "out"))
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	said := ready(t, cmd)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	expect(t, said, "stopped\n")
	time.Sleep(2 * oneSignal)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if got := endedBy(cmd.Wait()); got != syscall.SIGTERM {
		t.Errorf("ended by %v, want SIGTERM", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// timeout(1) sends its signal twice.
func TestSameSignalTwiceAtOnceIsOne(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	cmd, _ := command(t, "--do=count", "-o", target)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := ready(t, cmd)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	expect(t, said, "stopped\n")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	io.WriteString(in, "all")
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the tool ended with %v", err)
	}
	if got, _ := os.ReadFile(target); string(got) != "all" {
		t.Errorf("the output is %q, want all of the input", got)
	}
}

func TestToolThatReadsAFileEndsByTheFirstSignal(t *testing.T) {
	cmd, _ := command(t, "--do=idle")
	cmd.Stdin, _ = os.Open(os.Args[0])
	var out bytes.Buffer
	cmd.Stdout = &out
	ready(t, cmd)
	_ = cmd.Process.Signal(syscall.SIGHUP)
	if got := endedBy(cmd.Wait()); got != syscall.SIGHUP {
		t.Errorf("ended by %v, want SIGHUP", got)
	}
}

// A dying tool must not report what its own clean-up broke, nor exit before the signal ends it.
func TestInterruptWhileWritingPrintsNothing(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		cmd, _ := command(t, "--do=flood", "-o", filepath.Join(dir, "out"), "--mark", filepath.Join(dir, "mark"))
		said := ready(t, cmd)
		_ = cmd.Process.Signal(syscall.SIGINT)
		rest, _ := io.ReadAll(said)
		if got := endedBy(cmd.Wait()); got != syscall.SIGINT || len(rest) > 0 {
			t.Fatalf("ended by %v, saying %q; want SIGINT and silence", got, rest)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "mark" {
			t.Fatalf("left behind: %v, want what OnAbort wrote and nothing else", left)
		}
	}
}

func TestClosedPipeWhileWritingCleansUpAndEndsBySIGPIPE(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	cmd, _ := command(t, "--do=flood", "--mark", mark)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	said := ready(t, cmd)
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	rest, _ := io.ReadAll(said)
	if got := endedBy(cmd.Wait()); got != syscall.SIGPIPE || len(rest) > 0 {
		t.Errorf("ended by %v, saying %q; want SIGPIPE and silence", got, rest)
	}
	if !exists(mark) {
		t.Error("OnAbort was not called")
	}
}

func TestClosedFIFOEndsTheTool(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan *os.File)
	go func() {
		r, _ := os.Open(fifo)
		opened <- r
	}()
	cmd, _ := command(t, "--do=idle", "-o", fifo)
	ready(t, cmd)
	(<-opened).Close()
	if got := endedBy(cmd.Wait()); got != syscall.SIGPIPE {
		t.Errorf("ended by %v, want SIGPIPE", got)
	}
}

func TestHookReplacesTheEndByAClosedPipe(t *testing.T) {
	cmd, _ := command(t, "--do=hook")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	said := ready(t, cmd)
	w.Close()
	r.Close()
	expect(t, said, "closed true\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the tool ended with %v, want status 0", err)
	}
}

// The watcher polls the pipe; a poll that goes on would keep it open.
func TestCommitEndsThePipeForItsReader(t *testing.T) {
	cmd, _ := command(t, "--do=closed")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	ready(t, cmd)
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the reader got %d bytes, %v; want the end", n, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
