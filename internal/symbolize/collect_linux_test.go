package symbolize

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/cli"
)

func TestArchiveNamesWhereTheProgramIsNot(t *testing.T) {
	here, other := compile(t, "here", strings.Repeat("ab", 20)), compile(t, "other", strings.Repeat("cd", 20))
	in, second := here.capture(t, ""), other.capture(t, "")
	gone := compile(t, "gone", strings.Repeat("ef", 20))
	third := gone.capture(t, "")
	if err := os.Remove(gone.path); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "symbols.tar")
	stderr, status := run(t, "--collect", archive, in, second, third, in)
	if want := "wprof-symbolize: 1 of 3 files have no symbols here, and are not in the archive: \"" + gone.path + "\"\n"; status != cli.ExitOK || stderr != want {
		t.Fatalf("status %d: %q, want %q", status, stderr, want)
	}
	for _, path := range []string{here.path, other.path} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, capture := range []string{in, second} {
		for _, how := range []string{"file", "pipe"} {
			out := filepath.Join(t.TempDir(), "out")
			flags := []string{"--symbol-archive", archive, "-o", out}
			if how == "pipe" {
				stderr, status = runOn(pipe(t, capture), flags...)
			} else {
				stderr, status = run(t, append(flags, capture)...)
			}
			if status != cli.ExitOK || stderr != "" {
				t.Errorf("%s: status %d: %s", how, status, stderr)
			}
			if got := frames(t, out); got != "outer inner" {
				t.Errorf("%s: got %s", how, got)
			}
		}
	}
}

// TestArchiveGivesTheSameLines: with only the archive, a frame has the lines that it has with the program.
func TestArchiveGivesTheSameLines(t *testing.T) {
	program := filepath.Join(t.TempDir(), "lines")
	source := "volatile int sink; static inline __attribute__((always_inline)) int inner(int i) { sink = i; return i * 3; }\n" +
		"__attribute__((noinline)) int outer(int i) { return inner(i) + 1; }\nint main(int c, char **v) { return outer(c); }\n"
	cmd := exec.Command("gcc", "-O1", "-g", "-x", "c", "-", "-o", program, "-Wl,--build-id=0x"+strings.Repeat("ab", 20))
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	named, unnamed := captureAt(t, program, "outer", true), captureAt(t, program, "outer", false)
	folder := t.TempDir()
	lined := func(flags ...string) string {
		t.Helper()
		out := filepath.Join(folder, "out")
		if stderr, status := run(t, append(flags, "-o", out)...); status != cli.ExitOK || stderr != "" {
			t.Fatalf("%q: status %d: %s", flags, status, stderr)
		}
		return linesOf(t, out)
	}
	with, without := filepath.Join(folder, "with.tar"), filepath.Join(folder, "without.tar")
	for _, flags := range [][]string{{"--collect", with}, {"--collect", without, "--no-lines"}} {
		if stderr, status := run(t, append(flags, named)...); status != cli.ExitOK || stderr != "" {
			t.Fatalf("%q: status %d: %s", flags, status, stderr)
		}
	}
	wantNamed, want := lined(named), lined(unnamed)
	if want != "inner@<stdin>:1 outer@<stdin>:2" {
		t.Fatalf("with the program: %s", want)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ archive, capture, want string }{
		{with, named, wantNamed}, {with, unnamed, want}, {without, unnamed, "outer@:0"},
	} {
		if got := lined("--symbol-archive", c.archive, c.capture); got != c.want {
			t.Errorf("%s: got %s, want %s", c.archive, got, c.want)
		}
	}
}

// TestArchiveReplacesMissingUnits: the program is here, but its DWARF is incomplete.
func TestArchiveReplacesMissingUnits(t *testing.T) {
	dir := t.TempDir()
	program, archive, out := filepath.Join(dir, "split"), filepath.Join(dir, "a.tar"), filepath.Join(dir, "out")
	const source = "volatile int sink; static inline __attribute__((always_inline)) int inner(int i) { sink = i; return i * 3; }\n" +
		"__attribute__((noinline)) int outer(int i) { return inner(i) + 1; }\nint main(int c, char **v) { return outer(c); }\n"
	if err := os.WriteFile(filepath.Join(dir, "split.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-O1", "-g", "-gsplit-dwarf", "split.c", "-o", program, "-Wl,--build-id=0x"+strings.Repeat("ab", 20))
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	capture := captureAt(t, program, "outer", false)
	if stderr, status := run(t, "--collect", archive, capture); status != cli.ExitOK || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	units, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
	if err != nil || len(units) != 1 {
		t.Fatalf("got %q, %v", units, err)
	}
	if err := os.Remove(units[0]); err != nil {
		t.Fatal(err)
	}
	if stderr, status := run(t, "--symbol-archive", archive, "-o", out, capture); status != cli.ExitOK || stderr != "" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got, want := linesOf(t, out), "inner@split.c:1 outer@split.c:2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCollectingReportsFilesWithoutABuildID(t *testing.T) {
	c := compile(t, "unmarked", strings.Repeat("ab", 20))
	c.build = nil
	stderr, status := run(t, "--collect", filepath.Join(t.TempDir(), "symbols.tar"), c.capture(t, "outer"))
	want := "wprof-symbolize: the archive lacks files without a build-id, which can name their frames on this machine only: \"" + c.path + "\"\n"
	if status != cli.ExitOK || stderr != want {
		t.Errorf("status %d: %q, want %q", status, stderr, want)
	}
}

func TestCollectingRefusesWhatItCannotDo(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in, archive := here.capture(t, ""), filepath.Join(t.TempDir(), "symbols.tar")
	for _, c := range []struct {
		argv   []string
		status int
		want   string
	}{
		{[]string{in, "-o", "x"}, cli.ExitUsage, "leave out --output"},
		{[]string{in, "--demangle=full"}, cli.ExitUsage, "leave out --demangle"},
		{[]string{record(t, true)}, cli.ExitFailed, "it is a spool; finish it first"},
		{[]string{here.path}, cli.ExitFailed, here.path},
	} {
		stderr, status := run(t, append([]string{"--collect", archive}, c.argv...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d: %s; want %d and %q", c.argv, status, stderr, c.status, c.want)
		}
		if _, err := os.Stat(archive); err == nil {
			t.Errorf("%q: there is an archive", c.argv)
		}
	}
}

func TestDamagedCaptureIsCollectedAsFarAsItGoes(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in, archive := here.capture(t, ""), filepath.Join(t.TempDir(), "symbols.tar")
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, append(whole, bytes.Repeat([]byte{0xff}, 100)...), 0o600); err != nil {
		t.Fatal(err)
	}
	stderr, status := run(t, "--collect", archive, in)
	if status != cli.ExitDamaged || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "the archive has what the rest needs") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, err := os.Stat(archive); err != nil {
		t.Error(err)
	}
}

func TestArchiveThatCannotBeReadIsReported(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in, folder := here.capture(t, ""), t.TempDir()
	archive := filepath.Join(folder, "symbols.tar")
	if stderr, status := run(t, "--collect", archive, in); status != cli.ExitOK {
		t.Fatal(stderr)
	}
	if err := os.Remove(here.path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(whole, []byte("\x1f\x8b"))
	broken := bytes.Clone(whole)
	broken[at+20] ^= 0xff
	for name, c := range map[string]struct {
		content []byte
		status  int
		want    string
	}{
		"broken": {broken, cli.ExitOK, "it is damaged: a table of functions is malformed"},
		"cut":    {whole[:len(whole)-1024], cli.ExitFailed, "its end is missing"},
		"text":   {[]byte("text"), cli.ExitFailed, "it is not an archive of symbols"},
		"empty":  {nil, cli.ExitFailed, "it is not an archive of symbols"},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		stderr, status := run(t, "--symbol-archive", path, in, "-o", filepath.Join(folder, "out"))
		if status != c.status || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, path) || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d: %s; want %d and %q", name, status, stderr, c.status, c.want)
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "none"), "/dev/null"} {
		stderr, status := run(t, "--symbol-archive", path, in, "-o", filepath.Join(folder, "out"))
		if status != cli.ExitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, path) {
			t.Errorf("%s: status %d: %s", path, status, stderr)
		}
	}
}
