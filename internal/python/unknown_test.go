//go:build linux && amd64

package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	evaluates = "int PyEval_EvalFrameEx(void) { return 0; }\n"
	loops     = evaluates + "int _PyEval_EvalFrameDefault(void) { return 0; }\n"
	runs      = loops + "char _PyRuntime[4096] = \"xdebugpy\";\n"
)

// Interpreters that are not known say which they are, as those of these releases and builds do.
func TestUnknownInterpretersSayTheirVersion(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"2.7":                 {evaluates + "char folder[] = \"\\0lib/python2.7\";", "2.7"},
		"3.5":                 {evaluates + "const char tag[] = \"\\0cpython-35\";", "3.5"},
		"3.6":                 {loops + "const char tag[] = \"\\0cpython-36\";", "3.6"},
		"3.7":                 {runs + "const char tag[] = \"\\0cpython-37\";", "3.7"},
		"3.8 with references": {runs + "const char tag[] = \"\\0cpython-38\"; void _Py_PrintReferences(void) {}", "3.8 that traces references"},
		"3.12 with references": {
			runs + "const unsigned long Py_Version = 0x030c01f0; void _Py_PrintReferences(void) {}", "3.12 that traces references",
		},
		"3.16":           {runs + "const unsigned long Py_Version = 0x031000f0;", "3.16"},
		"no version":     {evaluates, ""},
		"no interpreter": {"extern int PyEval_EvalFrameEx(void); int f(void) { return PyEval_EvalFrameEx(); }", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := Read(compiled(t, c.source))
			var unknown *UnknownError
			got := "none"
			if errors.As(err, &unknown) {
				got = unknown.Version
			}
			if in != nil || got != c.want || (got == "none") != errors.Is(err, ErrNone) {
				t.Errorf("got %+v, version %q, %v; want version %q", in, got, err, c.want)
			}
		})
	}
}

// compiled returns a shared library.
func compiled(t *testing.T, source string) *os.File {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	if err := os.WriteFile(from, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-w", "-shared", "-fPIC", "-o", to, from).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
