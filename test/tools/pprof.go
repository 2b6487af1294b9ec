package tools

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Pprof runs Go's own pprof, which must succeed within five minutes. It uses only the given profiles, and none of the user's
// settings.
func Pprof(t testing.TB, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	var said bytes.Buffer
	cmd.Stderr = &said
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	return string(out), said.String()
}
