//go:build linux

package wall

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// allShown waits until what a run that has ended wrote is read.
func allShown(shown *tools.Buffer) {
	for end := time.Now().Add(time.Minute); !strings.HasSuffix(shown.String(), "what was recorded\r\n") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// A terminal shows how long the recording will still take, in one line that fits.
func TestCountdownFitsTheTerminal(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	for _, columns := range []int{0, 20, 132} {
		process := tools.StartWorkload(t, exec.Command(tools.Path("server")))
		process.Until("ready")
		w := script(t, process.PIDText(), "-d", "3", "-o", "bar")
		tty, _, shown := tools.Terminal(t)
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
		w.cmd.Stderr = tty
		w.run()
		allShown(shown)
		if columns == 0 {
			columns = 80 // the terminal does not know
		}
		steps := map[string]bool{}
		for _, m := range regexp.MustCompile(`\r(recording, (\ds) left[^\r\x1b]*)\x1b\[K`).FindAllStringSubmatch(shown.String(), -1) {
			steps[m[2]] = true
			if len(m[1]) >= columns {
				t.Errorf("%q has %d columns, and the terminal %d", m[1], len(m[1]), columns)
			}
		}
		if len(steps) < 2 {
			t.Errorf("on %d columns it counts down %v: %q", columns, steps, shown.String())
		}
		last := shown.String()[strings.LastIndex(shown.String(), "\x1b[K"):]
		if !strings.Contains(last, "coverage:") || strings.Contains(last, "recording, ") {
			t.Errorf("the countdown is not wiped: %q", last)
		}
	}
}
