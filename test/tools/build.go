package tools

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// C is a program that a test compiles: a workload that counts what it does.
type C struct {
	Name, Source string
	Flags        []string
	Compiler     string // gcc by default
}

// folder holds the binaries of this test process.
var folder string

// Main is the body of a TestMain: it builds the tools and the programs, runs the tests and ends the process.
// The folder that WPROF_TEST_BUILT names has the tools built already: scripts/test builds them once. The one that
// WPROF_TEST_TOOLS names has both, for machines without a compiler; into the one that WPROF_TEST_BUILD names the programs
// are built, and no test is run.
func Main(m *testing.M, programs ...C) {
	os.Exit(run(m, programs))
}

func run(m *testing.M, programs []C) int {
	_ = os.Unsetenv("DEBUGINFOD_URLS") // no test needs more than this machine
	_ = os.Unsetenv("GOGC")            // it is set for this process, not for the tools
	if folder = os.Getenv("WPROF_TEST_TOOLS"); folder != "" {
		return m.Run()
	}
	if into := os.Getenv("WPROF_TEST_BUILD"); into != "" {
		return built(buildPrograms(into, programs))
	}
	var err error
	if folder, err = os.MkdirTemp("", "wprof-test-tools-"); err == nil {
		defer os.RemoveAll(folder)
		err = build(folder, programs)
	}
	if status := built(err); status != 0 {
		return status
	}
	return m.Run()
}

func built(err error) (status int) {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "build what is tested:", err)
	return 1
}

func build(dir string, programs []C) error {
	// Users other than root execute what is in it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if built := os.Getenv("WPROF_TEST_BUILT"); built != "" {
		if err := linkAll(built, dir); err != nil {
			return err
		}
	} else if err := buildTools(dir); err != nil {
		return err
	}
	return buildPrograms(dir, programs)
}

// buildTools builds them as scripts/install does.
func buildTools(dir string) error {
	cmd := exec.Command("go", "build", "-o", dir+"/", "wprof/cmd/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return output(cmd)
}

// linkAll gives the files of a folder names in another one, and copies them where it is on another file system.
func linkAll(from, to string) error {
	files, err := os.ReadDir(from)
	for _, f := range files {
		source, target := filepath.Join(from, f.Name()), filepath.Join(to, f.Name())
		if os.Link(source, target) == nil {
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o755); err != nil {
			return err
		}
	}
	return err
}

func buildPrograms(dir string, programs []C) error {
	for _, p := range programs {
		args := append([]string{"-O1", "-Wall", "-o", filepath.Join(dir, p.Name), p.Source}, p.Flags...)
		if err := command(cmp.Or(p.Compiler, "gcc"), args...); err != nil {
			return err
		}
	}
	return nil
}

func command(name string, args ...string) error { return output(exec.Command(name, args...)) }

func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
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

// Emulated reports whether the CPUs are emulated in software: slow, and slower the busier their host is.
func Emulated(t testing.TB) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte("QEMU TCG CPU"))
}
