package symbolize

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/internal/cli"
)

// serverOf runs elfutils' server on the files of a folder, and returns its URL and what ends it.
func serverOf(t *testing.T, folder string) (url string, stop func()) {
	t.Helper()
	program, err := exec.LookPath("debuginfod")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(program, "-F", "-d", ":memory:", "-t", "0", "-p", fmt.Sprint(port), folder)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+t.TempDir())
	log := &strings.Builder{}
	cmd.Stderr, cmd.Stdout = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	return fmt.Sprintf("http://127.0.0.1:%d", port), stop
}

// await waits until a server has a file.
func await(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(url)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("debuginfod does not have %s", url)
}

// splitProgram puts a stripped program and its debug file into a folder, and removes the program.
func splitProgram(t *testing.T, c compiled, folder string) {
	t.Helper()
	for _, args := range [][]string{{"--only-keep-debug", c.path, filepath.Join(folder, "here.debug")}, {"--strip-all", c.path, filepath.Join(folder, "here")}} {
		if out, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.Remove(c.path); err != nil {
		t.Fatal(err)
	}
}

// TestFilesComeFromElfutilsServer names a program of which this machine has nothing, then from the cache alone, in both directions
// between elfutils' client and this one.
func TestFilesComeFromElfutilsServer(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in, folder, cache := here.capture(t, ""), t.TempDir(), t.TempDir()
	splitProgram(t, here, folder)
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	t.Setenv("DEBUGINFOD_URLS", "")
	url, stop := serverOf(t, folder)
	id := hex.EncodeToString(here.build)
	await(t, url+"/buildid/"+id+"/executable")
	await(t, url+"/buildid/"+id+"/debuginfo")

	check := func(what, want string, flags ...string) {
		t.Helper()
		unnamed := ""
		if want == "? ?" {
			unnamed = absentWarning(2, here.path)
		}
		out := filepath.Join(t.TempDir(), "out")
		if stderr, status := run(t, append(flags, "-o", out, in)...); status != cli.ExitOK || stderr != unnamed {
			t.Errorf("%s: status %d: %s", what, status, stderr)
		}
		if got := frames(t, out); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("without a server", "? ?")
	check("--debuginfod", "outer inner", "--debuginfod", url)
	t.Setenv("DEBUGINFOD_URLS", url)
	check("--debuginfod no", "? ?", "--debuginfod", "no")
	check("$DEBUGINFOD_URLS", "outer inner")

	find := func(kind string) string {
		out, err := exec.Command("debuginfod-find", kind, id).Output()
		if err != nil {
			t.Fatalf("debuginfod-find %s: %v", kind, err)
		}
		return strings.TrimSpace(string(out))
	}
	other := t.TempDir()
	t.Setenv("DEBUGINFOD_CACHE_PATH", other)
	find("executable")
	find("debuginfo")
	stop()
	check("what debuginfod-find downloaded", "outer inner")
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	for _, kind := range []string{"executable", "debuginfo"} {
		if got, want := find(kind), filepath.Join(cache, id, kind); got != want {
			t.Errorf("debuginfod-find: got %s, want %s", got, want)
		}
	}
}

func TestOnlyTheDebugFileIsFetchedForAStrippedProgram(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in, folder, cache := here.capture(t, ""), t.TempDir(), t.TempDir()
	splitProgram(t, here, folder)
	if err := os.Rename(filepath.Join(folder, "here"), here.path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	url, _ := serverOf(t, folder)
	await(t, url+"/buildid/"+hex.EncodeToString(here.build)+"/debuginfo")
	out := filepath.Join(t.TempDir(), "out")
	if stderr, status := run(t, "-v", "--debuginfod", url, "-o", out, in); status != cli.ExitOK || !strings.Contains(stderr, "from debuginfod servers: 1, ") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got := frames(t, out); got != "outer inner" {
		t.Errorf("got %s", got)
	}
}

// TestLinesAreFetched: a program that has its symbols may have its lines on a server alone.
func TestLinesAreFetched(t *testing.T) {
	id := strings.Repeat("ab", 20)
	program, folder := filepath.Join(t.TempDir(), "lines"), t.TempDir()
	cmd := exec.Command("gcc", "-O1", "-g", "-x", "c", "-", "-o", program, "-Wl,--build-id=0x"+id)
	cmd.Stdin = strings.NewReader("int outer(int i) { return i + 1; }\nint main(int c, char **v) { return outer(c); }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"--only-keep-debug", program, filepath.Join(folder, "lines.debug")}, {"--strip-debug", program}} {
		if out, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	in := captureAt(t, program, "outer", false)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	url, _ := serverOf(t, folder)
	await(t, url+"/buildid/"+id+"/debuginfo")
	for servers, want := range map[string]string{"": "outer@:0", url: "outer@<stdin>:1"} {
		t.Setenv("DEBUGINFOD_URLS", servers)
		out := filepath.Join(t.TempDir(), "out")
		if stderr, status := run(t, "-o", out, in); status != cli.ExitOK || stderr != "" {
			t.Errorf("servers %q: status %d: %s", servers, status, stderr)
		}
		if got := linesOf(t, out); got != want {
			t.Errorf("servers %q: got %s, want %s", servers, got, want)
		}
	}
}

// TestSupplementaryFilesAreFetched: dwz has moved what two debug files have in common to a third one.
func TestSupplementaryFilesAreFetched(t *testing.T) {
	id, dir, folder := strings.Repeat("ab", 20), t.TempDir(), t.TempDir()
	in := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	const source = "struct s { int a; long b; struct s *next; };\nstatic inline __attribute__((always_inline)) int inner(struct s *x) { return x->a * 3; }\n" +
		"__attribute__((noinline)) int outer(struct s *x) { return inner(x) + 1; }\nint main(int c, char **v) { struct s x = {c}; return outer(&x); }\n"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "dwz.c"), []byte(source), 0o600))
	in("gcc", "-O1", "-g", "dwz.c", "-o", "program", "-Wl,--build-id=0x"+id)
	in("gcc", "-O1", "-g", "dwz.c", "-o", "other")
	program := filepath.Join(dir, "program")
	capture := captureAt(t, program, "outer", false)
	in("dwz", "-m", "common.debug", "program", "other")
	in("objcopy", "--only-keep-debug", "program", filepath.Join(folder, "program.debug"))
	in("objcopy", "--strip-all", "program")
	must(os.Rename(filepath.Join(dir, "common.debug"), filepath.Join(folder, "common.debug")))
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	url, _ := serverOf(t, folder)
	await(t, url+"/buildid/"+id+"/debuginfo")
	out := filepath.Join(t.TempDir(), "out")
	if stderr, status := run(t, "--debuginfod", url, "-o", out, capture); status != cli.ExitOK || stderr != "" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got, want := linesOf(t, out), "inner@dwz.c:2 outer@dwz.c:3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnreachableServerCostsOneWarning(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in := here.capture(t, "")
	if err := os.Remove(here.path); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	t.Setenv("DEBUGINFOD_URLS", "http://"+l.Addr().String())
	stderr, status := run(t, "-o", filepath.Join(t.TempDir(), "out"), in)
	stderr, unnamed := strings.CutSuffix(stderr, absentWarning(2, here.path))
	if status != cli.ExitOK || !unnamed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "connection refused") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestFileThatAServerSendsMustHaveTheBuildID has a server that sends the same program for every build-id.
func TestFileThatAServerSendsMustHaveTheBuildID(t *testing.T) {
	here, other := compile(t, "here", strings.Repeat("ab", 20)), compile(t, "other", strings.Repeat("cd", 20))
	in, cache := here.capture(t, ""), t.TempDir()
	if err := os.Remove(here.path); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, other.path) }))
	defer server.Close()
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	out := filepath.Join(t.TempDir(), "out")
	stderr, status := run(t, "--debuginfod", server.URL, "-o", out, in)
	stderr, unnamed := strings.CutSuffix(stderr, absentWarning(2, here.path))
	if status != cli.ExitOK || !unnamed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "another file than the wanted one: its build-id differs") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got := frames(t, out); got != "? ?" {
		t.Errorf("got %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(left) > 0 {
		t.Errorf("the cache has %q", left)
	}
}
