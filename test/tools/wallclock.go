package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Wallclock prepares a run of scripts/wprof-wallclock as it is installed, with the tools of the test on PATH.
func Wallclock(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("../../scripts/wprof-wallclock")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wprof-wallclock")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	return cmd
}
