//go:build linux

package e2e

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// Scripts that take what they do not know for a folder or a number would do something else than what was meant.
func TestScriptsRefuseUnknownArguments(t *testing.T) {
	for _, c := range []struct{ command, message string }{
		{"install --bogus", "install: there is no flag --bogus; "},
		{"install " + t.TempDir() + " more", "install: more is one argument too many; "},
		{"quickstart --bogus", "quickstart: --bogus is no number of seconds"},
		{"test-kernels --bogus", "test-kernels: --bogus is an unknown kernel; "},
		{"test-kernels 6.1 5.4", "test-kernels: 5.4 is an unknown kernel; "},
		{"test-kernels --report 6.1", "test-kernels: 6.1 is one argument too many: "},
		{"test --bogus", "test: unknown argument --bogus "},
		{"fuzz", "fuzz: give the time for each target"},
		{"fuzz --bogus", "fuzz: --bogus is no duration; "},
		{"fuzz 1s more", "fuzz: more is one argument too many; "},
	} {
		words := strings.Fields(c.command)
		cmd := exec.Command("../../scripts/"+words[0], words[1:]...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if said := stderr.String(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 ||
			!strings.HasPrefix(said, c.message) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %v; it says %q, want %q", c.command, err, said, c.message)
		}
	}
}
