package stress

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"wprof/test/tools"
)

// tryProgram runs a program of the system that surrounds a tool, for two minutes at most.
func tryProgram(t *testing.T, name string, args ...string) tools.Result {
	t.Helper()
	return try(t, exec.Command(name, args...))
}

func try(t *testing.T, cmd *exec.Cmd) tools.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !late.Stop() {
		t.Fatalf("%v did not end: %s", cmd.Args, stderr.String())
	}
	return tools.Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Status: tools.Status(cmd.ProcessState)}
}
