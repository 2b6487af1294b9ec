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
)

// libraryOf returns the file that has the interpreter of a Python: a library, or the program itself.
func libraryOf(t testing.TB, python string) string {
	t.Helper()
	const script = `import sys
print(sys.version_info[1])
for line in open("/proc/self/maps"):
    if "/libpython" in line: print(line.split()[-1]); break
else: print(sys.executable)`
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
	for _, python := range pythons(t) {
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
		if loop := in.Loops[0]; loop.End-loop.Begin < 10000 {
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
	valid := make([]byte, debugBytes)
	copy(valid, debugCookie)
	valid[8*version+1], valid[8*version+2], valid[8*version+3] = 0, 0x0d, 0x03
	if parseDebugOffsets(valid) == nil {
		t.Fatal("the description is refused")
	}
	for name, change := range map[string]func(b []byte){
		"another cookie":    func(b []byte) { b[0]++ },
		"another version":   func(b []byte) { b[8*version+2]++ },
		"free-threaded":     func(b []byte) { b[8*freeThreaded] = 1 },
		"a far frame":       func(b []byte) { b[8*framePrevious+1] = 1 },
		"a far code object": func(b []byte) { b[8*codeLines+1] = 1 },
		"a far interpreter": func(b []byte) { b[8*threadsHead+7] = 1 },
		"far characters":    func(b []byte) { b[8*textASCII+2] = 1 },
	} {
		b := bytes.Clone(valid)
		change(b)
		if l := parseDebugOffsets(b); l != nil {
			t.Errorf("%s: got %+v", name, l)
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
		in, err := Read(bytes.NewReader(b))
		if err == nil && (in == nil || len(in.Loops) == 0 || len(in.Loops) > MaxLoops) {
			t.Errorf("got %+v", in)
		}
		if errors.Is(err, ErrNone) && in != nil {
			t.Errorf("got %+v with %v", in, err)
		}
	})
}
