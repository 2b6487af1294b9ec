//go:build linux

package wall

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

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
	tty, _, shown := tools.Terminal(t)
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
