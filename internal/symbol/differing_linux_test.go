package symbol

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestFirstDebugDirectoryWithTheFileIsUsed(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	m := moduleOf(t, program)
	other := buildC(t, "program.c", "-O2")
	empty, strange, first, second := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	copyFile(t, other, filepath.Join(strange, "program"))
	copyFile(t, program, filepath.Join(first, "program"))
	copyFile(t, program, filepath.Join(second, "program"))
	m.Path = []byte("/gone/program")
	o := raw()
	o.DebugDirs = []string{empty, strange, first, second}
	r := newResolver(t, o)
	if got := nameOne(t, r, m, at); got.Function != "weakly" {
		t.Fatalf("got %+v (%s)", got, r.Why(m))
	}
	for e := r.recent.Front(); e != nil; e = e.Next() {
		if got, want := e.Value.(*loaded).from, filepath.Join(first, "program"); got != want {
			t.Errorf("used %s, want %s", got, want)
		}
	}
	if got := r.Differing(); got != "" {
		t.Errorf("got %q, though the functions were found", got)
	}
}

func TestDebugDirectoryHasTheSymbolsOfAStrippedProgram(t *testing.T) {
	for _, exports := range [][]string{nil, {"-rdynamic"}} {
		program := buildC(t, "program.c", exports...)
		at := functionIn(t, program, "hidden")
		stripped, _ := split(t, program, "program.debug")
		m := moduleOf(t, stripped)
		o := raw()
		o.DebugDirs = []string{t.TempDir()}
		copyFile(t, program, filepath.Join(o.DebugDirs[0], string(m.Path)))
		r := newResolver(t, o)
		if got := nameOne(t, r, m, at); got.Function != "hidden" {
			t.Errorf("%q: got %+v (%s)", exports, got, r.Why(m))
		}
	}
}

func TestFilesOfAnotherBuildAreReportedOnce(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	r := newResolver(t, raw())
	var list []string
	for i := range 5 {
		other := copyFile(t, program, filepath.Join(t.TempDir(), fmt.Sprintf("replaced%d", i)))
		m := moduleOf(t, other)
		m.BuildId = append([]byte{m.BuildId[0] ^ byte(i+1)}, m.BuildId[1:]...)
		for range 2 {
			if got := nameOne(t, r, m, at); got.OK {
				t.Errorf("got %+v for another build-id", got)
			}
		}
		list = append(list, fmt.Sprintf("%q", other))
	}
	want := "not used, because it was replaced after the recording or is of another build: " + strings.Join(list[:3], ", ") + " and 2 more"
	if got := r.Differing(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestDebugFileOfAnotherBuildIsReported(t *testing.T) {
	program := buildC(t, "program.c")
	stripped, _ := split(t, program, "program.debug")
	_, wrong := split(t, buildC(t, "program.c", "-O2"), "program.debug")
	at := filepath.Join(filepath.Dir(stripped), ".debug", "program.debug")
	copyFile(t, wrong, at)
	r := newResolver(t, raw())
	nameOne(t, r, moduleOf(t, stripped), hotIn(t, program))
	if got := r.Differing(); !strings.HasSuffix(got, fmt.Sprintf("another build: %q", at)) {
		t.Errorf("got %q, want %s in it", got, at)
	}
}
