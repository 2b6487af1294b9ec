//go:build linux

package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal: what is written to master is typed, what is shown is read from it.
func terminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there is no /dev/ptmx here: %v", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to open: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	// Wide enough that a shell need not scroll a line.
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 400}); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

// screen collects what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// shows waits until the text is on the screen. A shell that starts beside all other tests takes seconds.
func (s *screen) shows(want string) bool {
	for range 1200 {
		if strings.Contains(s.now(), want) {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

func (s *screen) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Reset()
}

func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	master, tty := terminal(t)
	inv := &Invocation{Progname: "wprof-sample", Std: Std{Err: tty}}
	var shown screen
	go io.Copy(&shown, master)
	bar := inv.Progress("naming")
	for i := range int64(1000) {
		bar.Set(i+500, 1000)
	}
	inv.Warnf("lost 3 events")
	bar.Done()
	if !shown.shows("lost 3 events\r\n") {
		t.Fatalf("the screen shows %q", shown.text.String())
	}
	if got, want := shown.text.String(), wipeLine+"naming [###############               ]  50%"+wipeLine+"wprof-sample: lost 3 events\r\n"; got != want {
		t.Errorf("the screen shows %q, want %q", got, want)
	}
	var file strings.Builder
	inv.Std.Err = &file
	bar = inv.Progress("naming")
	bar.Set(1, 2)
	bar.Done()
	if file.Len() != 0 {
		t.Errorf("a file got %q", file.String())
	}
}

// interactive are shells that read a terminal, with what keeps a user's settings out.
func interactive() map[string][]string {
	return map[string][]string{
		"bash": {"--norc", "--noprofile", "-i"},
		"zsh":  {"-f", "-i"},
	}
}

// TestShellsCompleteWhatIsTyped types a line and the tabulator into real shells.
func TestShellsCompleteWhatIsTyped(t *testing.T) {
	for name, args := range interactive() {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("there is no %s here", name)
			}
			script := filepath.Join(t.TempDir(), "completion")
			tool := sample(nil)
			tool.AllowCommand = true
			if err := os.WriteFile(script, []byte(tool.completion(name)), 0o600); err != nil {
				t.Fatal(err)
			}
			begun := script[:len(script)-4]
			t.Chdir(filepath.Dir(script))
			someCommand(t)
			shell := startShell(t, path, args)
			shell.prepare(t, script)
			for typed, want := range map[string]string{
				"wprof-sample --verb":              "--verbose",
				"wprof-sample --feature=sched,wak": "--feature=sched,wakeup",
				"wprof-sample -f no-w":             "-f no-wakeup",
				"wprof-sample --stacks=off":        "--stacks=offcpu",
				"wprof-sample -Soff":               "-Soffcpu",
				"wprof-sample -o " + begun:         "-o " + script,
				"wprof-sample -p @" + begun:        "-p @" + script,
				"wprof-sample -p@" + begun:         "-p@" + script,
				"wprof-sample --pid=@" + begun:     "--pid=@" + script,
				"wprof-sample --pid @":             "--pid @completion",
				"wprof-sample -p@":                 "-p@completion",
				"wprof-sample --pid=@":             "--pid=@completion",
				"wprof-sample -- wprof-some":       "-- wprof-some-command",
				"wprof-sample -v -- wprof-some":    "-v -- wprof-some-command",
				"wprof-sample -- cat " + begun:     "cat " + script,
			} {
				shell.enterOnEmptyLine(t, "echo is''ready", "isready")
				shell.screen.clear()
				io.WriteString(shell.keys, typed+"\t")
				if !shell.screen.shows(want) {
					t.Errorf("%q does not become %q: %q", typed, want, shell.screen.now())
				}
			}
		})
	}
}

// someCommand puts wprof-some-command on the PATH.
func someCommand(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wprof-some-command"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// shell is a shell on a terminal.
type shell struct {
	name   string
	keys   io.Writer
	screen *screen
}

func startShell(t *testing.T, path string, args []string) shell {
	t.Helper()
	master, tty := terminal(t)
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+t.TempDir(), "PS1=", "PROMPT=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := shell{name: filepath.Base(path), keys: master, screen: new(screen)}
	go io.Copy(s.screen, master)
	return s
}

// prepare makes the shell read a completion script.
func (s shell) prepare(t *testing.T, script string) {
	t.Helper()
	if s.name == "zsh" {
		s.enterOnEmptyLine(t, "autoload -U compinit; compinit -u -D; echo compinit is''loaded", "isloaded")
	}
	s.enterOnEmptyLine(t, "source "+script+"; echo is''sourced", "issourced")
}

// enterOnEmptyLine replaces what has been typed by the line, enters it and waits for its answer.
func (s shell) enterOnEmptyLine(t *testing.T, line, answer string) {
	t.Helper()
	const eraseLine = "\x15"
	fmt.Fprintf(s.keys, "%s%s\n", eraseLine, line)
	if !s.screen.shows(answer) {
		t.Fatalf("%s does not answer %q with %q: %q", s.name, line, answer, s.screen.now())
	}
}

func TestFishCompletes(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("there is no fish here")
	}
	script := filepath.Join(t.TempDir(), "completion")
	tool := sample(nil)
	tool.AllowCommand = true
	if err := os.WriteFile(script, []byte(tool.completion("fish")), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := script[:len(script)-4]
	someCommand(t)
	for typed, want := range map[string][]string{
		"--verb":                        {"--verbose"},
		"--feature=sched,wak":           {"--feature=sched,wakeup"},
		"-f no-w":                       {"no-wakeup"},
		"-f sched,":                     {"sched,no-sched", "sched,no-wakeup", "sched,wakeup"},
		"-fsched,wak":                   {"-fsched,wakeup"},
		"--stacks=off":                  {"--stacks=offcpu"},
		"--completion=z":                {"--completion=zsh"},
		"-p @" + begun:                  {"@" + script},
		"-p@" + begun:                   {"-p@" + script},
		"--pid=@" + begun:               {"--pid=@" + script},
		"-p ":                           nil,
		"-- wprof-some":                 {"wprof-some-command"},
		"-v -- wprof-some":              {"wprof-some-command"},
		"-- cat " + begun:               {script},
		"-- wprof-sample --feat":        {"--feature"},
		"-- wprof-sample -- wprof-some": {"wprof-some-command"},
	} {
		cmd := exec.Command(fish, "--no-config", "-c", "source "+script+"; complete -C 'wprof-sample "+typed+"' | string replace -r '\\t.*' ''")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if got := strings.Fields(string(out)); !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, %v; want %q", typed, got, err, want)
		}
	}
}
