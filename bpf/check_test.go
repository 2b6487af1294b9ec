//go:build linux

package bpf

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestCheckFindsNothingMissing(t *testing.T) {
	_, err := Check()
	must(t, err)
}

// The test runs itself as nobody.
func TestCheckNamesTheCapabilities(t *testing.T) {
	if os.Getenv("WPROF_TEST_AS_NOBODY") != "" {
		_, err := Load(Options{})
		var missing *Unsupported
		if !errors.As(err, &missing) || !errors.Is(err, os.ErrPermission) {
			t.Fatalf("Load: %v", err)
		}
		os.Stdout.WriteString("got: " + err.Error() + "\n")
		return
	}
	copied := t.TempDir() + "/test"
	must(t, copyExecutable("/proc/self/exe", copied))
	for dir := copied; dir != "/tmp" && dir != "/"; dir = dir[:strings.LastIndexByte(dir, '/')] {
		must(t, os.Chmod(dir, 0o755))
	}
	nobody := exec.Command(copied, "-test.run", t.Name())
	nobody.Env = append(os.Environ(), "WPROF_TEST_AS_NOBODY=1")
	nobody.Dir = "/"
	nobody.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := nobody.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "got: recording needs CAP_BPF and CAP_PERFMON: run it as root\n") {
		t.Errorf("as nobody: %v: %s", err, out)
	}
}
