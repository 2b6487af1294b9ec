package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// C is a program that a test compiles: a workload that knows what it did.
type C struct {
	Name, Source string
	Flags        []string
}

// folder holds the binaries of this test process.
var folder string

// Main is the body of a TestMain: it builds the tools and the programs, runs the tests and ends the process.
// The folder that WPROF_TEST_TOOLS names has them built already, for machines without a compiler.
func Main(m *testing.M, programs ...C) {
	os.Exit(run(m, programs))
}

func run(m *testing.M, programs []C) int {
	if folder = os.Getenv("WPROF_TEST_TOOLS"); folder != "" {
		return m.Run()
	}
	var err error
	if folder, err = os.MkdirTemp("", "wprof-test-tools-"); err == nil {
		defer os.RemoveAll(folder)
		err = build(folder, programs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build what is tested:", err)
		return 1
	}
	return m.Run()
}

func build(dir string, programs []C) error {
	// Others than root are to execute what is in it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	commands := [][]string{{"go", "build", "-o", dir + "/", "wprof/cmd/..."}}
	for _, p := range programs {
		commands = append(commands, append([]string{"gcc", "-O1", "-Wall", "-o", filepath.Join(dir, p.Name), p.Source}, p.Flags...))
	}
	for _, args := range commands {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// Path is where the tool or program of that name stands.
func Path(name string) string { return filepath.Join(folder, name) }

// Folder has all of them.
func Folder() string { return folder }

// NeedPrivilege skips the test only where recording cannot work.
func NeedPrivilege(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); os.Getuid() != 0 || err != nil {
		t.Skip("recording needs root and BTF")
	}
}
