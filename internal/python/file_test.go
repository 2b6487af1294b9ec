package python

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// libraryOf returns the file that has the interpreter of a Python: a library, or the program itself.
func libraryOf(t testing.TB, python string) string {
	t.Helper()
	const script = `import os, sys
print(sys.version_info[1])
files = [line.split()[-1] for line in open("/proc/self/maps") if "python3." in os.path.basename(line)]
print(([f for f in files if "/libpython" in f] or files)[0])`
	out, err := exec.Command(python, "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(out))
	file, err := filepath.EvalSymlinks(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return fields[0] + " " + file
}

func TestInterpretersAreKnownByTheirFiles(t *testing.T) {
	for _, python := range tools.Pythons(t) {
		minor, file, _ := strings.Cut(libraryOf(t, python), " ")
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in, err := Read(f)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want, _ := strconv.Atoi(minor); in.Minor != want {
			t.Errorf("%s: version 3.%d, want 3.%d", file, in.Minor, want)
		}
		least := uint64(10000)
		switch {
		case in.Minor >= 15:
			least = 500 // it only calls the first of the functions for instructions
		case in.Minor == 14:
			least = 1000 // one that calls a function for each instruction
		}
		if loop := in.Loops[0]; loop.End-loop.Begin < least {
			t.Errorf("%s: the loop that executes bytecode has %d bytes", file, loop.End-loop.Begin)
		}
	}
}

func TestOtherFilesHaveNone(t *testing.T) {
	for _, file := range []string{"/bin/ls", "/proc/self/exe", "file_test.go"} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if in, err := Read(f); err == nil || in != nil {
			t.Errorf("%s has the interpreter %+v", file, in)
		}
	}
}

// Offsets that an interpreter describes are used only if a walk can read what they say.
func TestDescribedOffsetsAreBounded(t *testing.T) {
	for _, p := range debugLayouts() {
		valid := make([]byte, debugBytes)
		copy(valid, debugCookie)
		valid[8*version+2], valid[8*version+3] = byte(p.minor), 3
		if parseDebugOffsets(valid) == nil {
			t.Fatalf("the description of 3.%d is refused", p.minor)
		}
		for name, change := range map[string]func(b []byte){
			"another cookie":        func(b []byte) { b[0]++ },
			"another version":       func(b []byte) { b[8*version+2] = 200 },
			"another kind of build": func(b []byte) { b[8*freeThreaded] = 2 },
			"a far frame":           func(b []byte) { b[8*p.framePrevious+1] = 1 },
			"a far code object":     func(b []byte) { b[8*p.codeLines+1] = 1 },
			"a far interpreter":     func(b []byte) { b[8*p.threadsHead+7] = 1 },
			"far characters":        func(b []byte) { b[8*p.textASCII+2] = 1 },
		} {
			b := bytes.Clone(valid)
			change(b)
			if l := parseDebugOffsets(b); l != nil {
				t.Errorf("3.%d, %s: got %+v", p.minor, name, l)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, python := range []string{"/usr/bin/python3"} {
		if _, err := os.Stat(python); err != nil {
			continue
		}
		_, file, _ := strings.Cut(libraryOf(f, python), " ")
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 1<<20)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ReadTasks(bytes.NewReader(b))
		in, err := Read(bytes.NewReader(b))
		if err == nil && (in == nil || len(in.Loops) == 0 || len(in.Loops) > MaxLoops) {
			t.Errorf("got %+v", in)
		}
		if errors.Is(err, ErrNone) && in != nil {
			t.Errorf("got %+v with %v", in, err)
		}
	})
}
