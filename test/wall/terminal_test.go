//go:build linux

package wall

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// terminal is a pseudo-terminal, and what it has shown so far.
func terminal(t testing.TB) (tty *os.File, shown *tools.Buffer) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	shown = new(tools.Buffer)
	go func() { _, _ = io.Copy(shown, master) }()
	return tty, shown
}

// allShown waits until what a run that has ended wrote is read.
func allShown(shown *tools.Buffer) {
	for end := time.Now().Add(time.Minute); !strings.HasSuffix(shown.String(), "what was recorded\r\n") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestProgressIsDrawnOnATerminal(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	pid := strconv.Itoa(sleeper(t, "300").Process.Pid)
	w := script(t, pid, "-d", "2", "-o", "bar")
	tty, shown := terminal(t)
	w.cmd.Stderr = tty
	w.run()
	allShown(shown)
	steps := map[string]bool{}
	for _, m := range regexp.MustCompile(`recording process `+pid+` \(sleep\) \[(#* *)\] \d of 2 s`).FindAllStringSubmatch(shown.String(), -1) {
		steps[m[1]] = true
	}
	if len(steps) < 2 {
		t.Errorf("the bar was drawn %d ways: %q", len(steps), shown.String())
	}
	last := shown.String()[strings.LastIndex(shown.String(), "\x1b[K"):]
	if !strings.Contains(last, "coverage:") || strings.Contains(last, "recording process") {
		t.Errorf("the bar is not wiped: %q", last)
	}
}
