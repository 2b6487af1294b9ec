package usercode

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a tool for a test and returns what it writes.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, complaint.Bytes())
	}
	return string(out)
}

func needTool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// build compiles a file of testdata with gcc, g++, clang or rustc.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	run(t, "", needTool(t, compiler), append([]string{"-g", "-o", out, filepath.Join("testdata", source)}, flags...)...)
	return out
}

// buildGo compiles a Go program of testdata.
func buildGo(t testing.TB, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "program")
	run(t, dir, needTool(t, "go"), append(append([]string{"build", "-o", out}, flags...), "main.go")...)
	return out
}

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func needSDT(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("gcc", "-E", "-include", "sys/sdt.h", "-x", "c", os.DevNull).CombinedOutput(); err != nil {
		t.Skipf("sys/sdt.h is not installed: %.100s", out)
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
