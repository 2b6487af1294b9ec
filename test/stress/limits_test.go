package stress

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// load runs a program that brings new processes and code all the time, until the test ends.
func load(t *testing.T) {
	t.Helper()
	cmd := exec.Command(tools.Path("newcode"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// limited runs a tool below a limit of bash's ulimit, and without the right to raise it.
func limited(t *testing.T, limit, tool string, args ...string) tools.Result {
	t.Helper()
	script := fmt.Sprintf(`ulimit %s && exec setpriv --bounding-set=-sys_resource "$@"`, limit)
	return tryProgram(t, "bash", append([]string{"-c", script, "bash", tools.Path(tool)}, args...)...)
}

// isSentence checks that a tool says what is wrong in one line that begins with its name.
func isSentence(r tools.Result, has string) error {
	text := string(r.Stderr)
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "wprof-") || !strings.Contains(text, has) {
		return fmt.Errorf("status %d with the message %q, want one sentence with %q", r.Status, text, has)
	}
	return nil
}

// TestFewOpenFiles records with hardly more files than the kernel programs take: what cannot be kept open is counted and
// reported. With fewer the recorder refuses before it starts. The other tools get by with 16.
func TestFewOpenFiles(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	load(t)
	enough := 79 + 5*possibleCPUs(t) // 89 with two
	file := filepath.Join(t.TempDir(), "few.wprof")
	r := limited(t, fmt.Sprintf("-n %d", enough), "wprof-record", "-d2s", "-o", file)
	if r.Status != 0 || !bytes.Contains(r.Stderr, []byte("could not be kept open, because this process may have")) {
		t.Fatalf("wprof-record with %d open files: status %d: %s", enough, r.Status, r.Stderr)
	}
	tools.Run(t, "wprof-info", "--check", file)
	for _, limit := range []string{fmt.Sprintf("-n %d", enough-10), "-n 32", "-n 16"} {
		none := filepath.Join(t.TempDir(), "none.wprof")
		r := limited(t, limit, "wprof-record", "-d1s", "-o", none)
		if err := isSentence(r, "ulimit -n"); err != nil || r.Status != 1 {
			t.Errorf("wprof-record with ulimit %s: status %d, %v", limit, r.Status, err)
		}
		if left, _ := filepath.Glob(none + "*"); left != nil {
			t.Errorf("wprof-record with ulimit %s leaves %v", limit, left)
		}
	}
	for _, args := range [][]string{
		{"wprof-filter", "-n", "newcode", file}, {"wprof-symbolize", file}, {"wprof-perfetto", file}, {"wprof-info", file}, {"wprof-flame", "--start", "1ms", file},
		{"wprof-info", "--check", file}, {"wprof-info", "--dump", file}, {"wprof-json", file}, {"wprof-json", "--stream", "--start", "1ms", file},
	} {
		got := limited(t, "-n 16", args[0], args[1:]...)
		// Files of processes in other containers are not here.
		quiet := len(got.Stderr) == 0 || args[0] == "wprof-symbolize" && strings.Contains(string(got.Stderr), " not found, so that ")
		if got.Status != 0 || !quiet {
			t.Errorf("%v with 16 open files: status %d: %s", args, got.Status, got.Stderr)
		}
	}
}

// possibleCPUs counts the CPUs that the kernel may have.
func possibleCPUs(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		t.Fatal(err)
	}
	first, last := 0, 0
	if n, _ := fmt.Sscanf(string(text), "%d-%d", &first, &last); n < 2 {
		last = first
	}
	return last - first + 1
}

// TestACommandKeepsItsLimits: the recorder changes its own limits, but not those of the command.
func TestACommandKeepsItsLimits(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	limit := 72 + 6*possibleCPUs(t) + 10
	r := tryProgram(t, "bash", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, limit), "bash",
		tools.Path("wprof-record"), "-o", filepath.Join(t.TempDir(), "c.wprof"), "--", "bash", "-c", "ulimit -Sn; ulimit -Hn")
	if want := fmt.Sprintf("%d\n%d\n", limit, limit); r.Status != 0 || string(r.Stdout) != want {
		t.Errorf("status %d, the command has the limits %q, want %q: %s", r.Status, r.Stdout, want, r.Stderr)
	}
}

// TestOtherLimits records without locked memory and within an address space of 2 GB.
func TestOtherLimits(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	for _, limit := range []string{"-l 0", "-v 2000000", "-u 200"} {
		file := filepath.Join(t.TempDir(), "l.wprof")
		if r := limited(t, limit, "wprof-record", "-d300ms", "-o", file); r.Status != 0 {
			t.Errorf("wprof-record with ulimit %s: status %d: %s", limit, r.Status, r.Stderr)
			continue
		}
		for _, args := range [][]string{{"wprof-info", "--check", file}, {"wprof-perfetto", file}} {
			if r := limited(t, limit, args[0], args[1:]...); r.Status != 0 {
				t.Errorf("%v with ulimit %s: status %d: %s", args, limit, r.Status, r.Stderr)
			}
		}
	}
}

// TestBareSurroundings records where neither tracefs nor bpffs is mounted nor could be, /proc hides others' processes,
// and the only file system that can be written to is the output's.
func TestBareSurroundings(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	dir := t.TempDir()
	script := `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc -o hidepid=2 proc /proc
for at in /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf; do while mountpoint -q $at; do umount -l $at; done; done
mount -t tmpfs none /sys/fs
mount -t tmpfs -o ro none /var
mount -o remount,bind,ro /
test ! -e /sys/fs/bpf && test ! -e /var/tmp && ! test -e /sys/kernel/tracing/events && ! touch /etc/wprof-test 2>/dev/null
cd "$1"
set +e
unset TMPDIR
wprof-record -d300ms -o file.wprof 2>file.err; echo $? >file.status
wprof-record -d300ms >novar.wprof 2>novar.err; echo $? >novar.status
TMPDIR="$1" wprof-record -d300ms >pipe.wprof 2>pipe.err; echo $? >pipe.status
wprof-record -d300ms -o /etc/no.wprof 2>readonly.err; echo $? >readonly.status
wprof-symbolize <pipe.wprof >named.wprof 2>named.err; echo $? >named.status
cat pipe.wprof | wprof-perfetto >trace.pb 2>trace.err; echo $? >trace.status
`
	cmd := exec.Command("unshare", "--mount", "bash", "-c", script, "bash", dir)
	cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
	if r := try(t, cmd); r.Status != 0 {
		t.Fatalf("prepare the surroundings: status %d: %s", r.Status, r.Stderr)
	}
	for name, want := range map[string]struct{ status, says string }{
		"file": {"0", "recorded"}, "pipe": {"0", "recorded"}, "named": {"0", ""}, "trace": {"0", ""},
		"novar": {"1", "TMPDIR"}, "readonly": {"1", "/etc/no.wprof"},
	} {
		status, _ := os.ReadFile(filepath.Join(dir, name+".status"))
		text, _ := os.ReadFile(filepath.Join(dir, name+".err"))
		if strings.TrimSpace(string(status)) != want.status || !bytes.Contains(text, []byte(want.says)) {
			t.Errorf("%s: status %s: %q, want %s and %q", name, status, text, want.status, want.says)
		}
	}
	for _, file := range []string{"file.wprof", "pipe.wprof", "named.wprof"} {
		tools.Run(t, "wprof-info", "--check", filepath.Join(dir, file))
	}
}

// TestSmallTMPDIR records to a pipe with a TMPDIR of 4 MB: the recording ends early, says so, and everything that fitted is
// delivered. wprof-symbolize needs no room there.
func TestSmallTMPDIR(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	load(t)
	dir := t.TempDir()
	script := `set -e
mount --make-rprivate /
mkdir "$1/small"
mount -t tmpfs -o size=4m none "$1/small"
export TMPDIR="$1/small"
set +e
wprof-record -d60s -Stimer=1khz >"$1/out.wprof" 2>"$1/err"; echo $? >"$1/status"
ls -A "$TMPDIR" >"$1/left"
dd if=/dev/zero of="$TMPDIR/full" bs=1M 2>/dev/null
cat "$1/out.wprof" | wprof-symbolize >"$1/named.wprof"
`
	cmd := exec.Command("unshare", "--mount", "bash", "-c", script, "bash", dir)
	cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
	begin := time.Now()
	if r := try(t, cmd); r.Status != 0 {
		t.Fatalf("status %d: %s", r.Status, r.Stderr)
	}
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	text, _ := os.ReadFile(filepath.Join(dir, "err"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; string(status) != "1\n" || !strings.Contains(last, "ended early") || !strings.Contains(last, "TMPDIR") {
		t.Errorf("after %v: status %s: %s", time.Since(begin), status, text)
	}
	if left, _ := os.ReadFile(filepath.Join(dir, "left")); len(left) > 0 {
		t.Errorf("TMPDIR holds %s afterwards", left)
	}
	for _, file := range []string{"out.wprof", "named.wprof"} {
		out := tools.Run(t, "wprof-info", "--check", filepath.Join(dir, file))
		if bytes.Contains(out, []byte("sound: 0 events")) {
			t.Errorf("%s: %s", file, out)
		}
	}
}
