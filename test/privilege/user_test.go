//go:build linux

package privilege

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/tools"
)

// nobody is a user without any rights.
const nobody = 65534

// asNobody runs a command as that user, with an empty environment but for the search path.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	return cmd
}

// ended is how a command ended.
type ended struct {
	status         int
	stdout, stderr bytes.Buffer
}

func run(t testing.TB, cmd *exec.Cmd) *ended {
	t.Helper()
	e := new(ended)
	if cmd.Stdout == nil {
		cmd.Stdout = &e.stdout
	}
	cmd.Stderr = &e.stderr
	must(t, cmd.Start())
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	e.status = tools.Status(cmd.ProcessState)
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open is a folder for everybody, on a file system that honours capabilities of files.
func open(t testing.TB, mode os.FileMode) string {
	t.Helper()
	for _, parent := range []string{"/tmp", "/var/tmp"} {
		var stat unix.Statfs_t
		if unix.Statfs(parent, &stat) != nil || stat.Flags&unix.ST_NOSUID != 0 {
			continue
		}
		dir, err := os.MkdirTemp(parent, "wprof-privilege-")
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		must(t, os.Chmod(dir, mode))
		return dir
	}
	t.Fatal("neither /tmp nor /var/tmp honours capabilities of files")
	return ""
}

// documented are the capabilities of the command that docs/permissions.md shows.
func documented(t testing.TB) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/permissions.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(page), "sudo setcap ")
	list, _, found := strings.Cut(rest, "=ep wprof-record")
	if !found {
		t.Fatal("the manual shows no setcap")
	}
	return strings.Split(list, ",")
}

// capable is a wprof-record that has these capabilities for everyone who executes it, as setcap(8) gives them.
func capable(t testing.TB, capabilities []string) string {
	t.Helper()
	numbers := map[string]int{
		"cap_bpf": unix.CAP_BPF, "cap_perfmon": unix.CAP_PERFMON, "cap_syslog": unix.CAP_SYSLOG, "cap_sys_ptrace": unix.CAP_SYS_PTRACE,
		"cap_checkpoint_restore": unix.CAP_CHECKPOINT_RESTORE, "cap_dac_read_search": unix.CAP_DAC_READ_SEARCH, "cap_sys_nice": unix.CAP_SYS_NICE,
		"cap_ipc_lock": unix.CAP_IPC_LOCK,
	}
	var permitted uint64
	for _, c := range capabilities {
		number, known := numbers[c]
		if !known {
			t.Fatalf("%s is not one that this test knows", c)
		}
		permitted |= 1 << number
	}
	tool := filepath.Join(open(t, 0o755), "wprof-record")
	from, err := os.ReadFile(tools.Path("wprof-record"))
	must(t, err)
	must(t, os.WriteFile(tool, from, 0o755))
	must(t, os.Chmod(tool, 0o755))
	// struct vfs_cap_data, second revision, with the flag "effective".
	attribute := make([]byte, 20)
	for i, word := range []uint32{0x02000001, uint32(permitted), 0, uint32(permitted >> 32), 0} {
		binary.LittleEndian.PutUint32(attribute[4*i:], word)
	}
	must(t, unix.Setxattr(tool, "security.capability", attribute, 0))
	return tool
}

// counts are the events of a stream, by kind.
func counts(t testing.TB, in io.Reader) map[format.Kind]int {
	t.Helper()
	r, err := format.NewReader(in)
	must(t, err)
	defer r.Close()
	all := map[format.Kind]int{}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all[e.Kind]++
	}
}

// TestUserWithFileCapabilitiesRecords as the manual's setcap allows.
func TestUserWithFileCapabilitiesRecords(t *testing.T) {
	tools.NeedPrivilege(t)
	tool := capable(t, documented(t))
	other := exec.Command("sh", "-c", "while :; do sleep 0.01; done")
	must(t, other.Start())
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	for _, c := range []struct {
		name string
		args []string
		file bool
	}{
		{"default, to a pipe", nil, false},
		{"default, to a file", nil, true},
		{"live", []string{"--live"}, false},
		{"a process of another user", []string{"-p", strconv.Itoa(other.Process.Pid)}, true},
		{"a process and its children", []string{"-p", strconv.Itoa(other.Process.Pid), "--children"}, true},
		{"a command", []string{"--", "sh", "-c", "sleep 0.05; grep ^Cap /proc/self/status >&2"}, true},
		{"a command, to a pipe", []string{"--", "sh", "-c", "sleep 0.05; grep ^Cap /proc/self/status >&2"}, false},
		{"all stacks", []string{"-Sall", "--offcpu-min=0", "-Stimer=997hz"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := open(t, 0o777)
			out := filepath.Join(folder, "x.wprof")
			args := []string{"-d700ms"}
			if c.file {
				args = append(args, "-o", out)
			}
			e := run(t, asNobody(exec.Command(tool, append(args, c.args...)...)))
			said := e.stderr.String()
			if e.status != 0 || strings.Contains(said, "have no names") {
				t.Fatalf("status %d: %s", e.status, said)
			}
			if c.file {
				owned(t, out, nobody)
				file, err := os.ReadFile(out)
				must(t, err)
				e.stdout.Reset()
				e.stdout.Write(file)
			}
			n := counts(t, &e.stdout)
			if n[format.KindSwitch] < 5 || n[format.KindWaking] == 0 {
				t.Errorf("the recording has %v", n)
			}
			if strings.Contains(c.name, "command") && !strings.Contains(said, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n") {
				t.Errorf("the command has capabilities: %s", said)
			}
			alone(t, folder, c.file)
		})
	}
}

// alone checks that nothing but the result is in a folder.
func alone(t testing.TB, folder string, result bool) {
	t.Helper()
	left, err := os.ReadDir(folder)
	must(t, err)
	if result && (len(left) != 1 || left[0].Name() != "x.wprof") || !result && len(left) > 0 {
		t.Errorf("the folder holds %v", left)
	}
}

// owned checks that a capture is a regular file of that user and nobody else.
func owned(t testing.TB, file string, user uint32) {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(file, &stat))
	if stat.Mode != unix.S_IFREG|0o600 || stat.Uid != user {
		t.Errorf("%s has mode %o and belongs to %d, want a regular file with 0600 of %d", file, stat.Mode, stat.Uid, user)
	}
}

// TestFileCapabilitiesOpenNoFilesOfOthers: the capabilities that let a recorder look at other users' processes do not let it read their files.
func TestFileCapabilitiesOpenNoFilesOfOthers(t *testing.T) {
	tools.NeedPrivilege(t)
	tool := capable(t, documented(t))
	// Inside the outer folder everything is permitted.
	private := filepath.Join(open(t, 0o700), "inside")
	must(t, os.Mkdir(private, 0o755))
	must(t, os.Chmod(private, 0o755))
	secret, program := filepath.Join(private, "secret"), filepath.Join(private, "program")
	must(t, os.WriteFile(secret, []byte("very secret words\n"), 0o644))
	must(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 42\n"), 0o755))
	must(t, os.Mkdir(filepath.Join(private, "open"), 0o777))
	must(t, os.Chmod(filepath.Join(private, "open"), 0o777))
	// What may look at a process also leads to the folders that it has open.
	other := exec.Command("sleep", "1000")
	other.Dir = private
	must(t, other.Start())
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	process := "/proc/" + strconv.Itoa(other.Process.Pid)
	for _, c := range []struct {
		args   []string
		tmpdir string
	}{
		{args: []string{"-p", "@" + secret}},
		{args: []string{"-n", "@" + secret}},
		{args: []string{"-M", "a=b", "-o", filepath.Join(private, "open", "x")}},
		{args: []string{"--", program}},
		{tmpdir: filepath.Join(private, "open")},
		{args: []string{"-p", "@" + process + "/cwd/secret"}},
		{args: []string{"-p", "@" + process + "/root" + secret}},
		{args: []string{"-p", "@" + process + "/exe"}},
		{args: []string{"-n", "@" + process + "/environ"}},
		{args: []string{"-o", process + "/cwd/open/x"}},
		{args: []string{"--", process + "/cwd/program"}},
		{args: []string{"--", process + "/exe", "0"}},
		{tmpdir: process + "/cwd/open"},
	} {
		cmd := asNobody(exec.Command(tool, append([]string{"-d50ms"}, c.args...)...))
		cmd.Env = append(cmd.Env, "TMPDIR="+c.tmpdir)
		e := run(t, cmd)
		said := e.stderr.String()
		if e.status == 0 || e.status == 42 || strings.Contains(said, "secret words") || !strings.Contains(said, "permission denied") {
			t.Errorf("%q, TMPDIR %q: status %d: %s", c.args, c.tmpdir, e.status, said)
		}
	}
	alone(t, filepath.Join(private, "open"), false)
}

// TestFileCapabilitiesPutNoFilesElsewhere changes the way to the output while it is recorded: at the end it leads where only
// the recorder's capabilities could go.
func TestFileCapabilitiesPutNoFilesElsewhere(t *testing.T) {
	tools.NeedPrivilege(t)
	tool := capable(t, documented(t))
	private, folder := open(t, 0o700), open(t, 0o777)
	inner := filepath.Join(private, "open")
	must(t, os.Mkdir(inner, 0o777))
	must(t, os.Chmod(inner, 0o777))
	way := filepath.Join(open(t, 0o755), "way")
	must(t, os.Symlink(folder, way))
	cmd := asNobody(exec.Command(tool, "-d1s", "-o", filepath.Join(way, "x.wprof")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if info, err := os.Lstat(filepath.Join(folder, "x.wprof.part")); err == nil && info.Size() > 100 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	must(t, os.Symlink(inner, way+".new"))
	must(t, os.Rename(way+".new", way))
	_ = cmd.Wait()
	part := filepath.Join(folder, "x.wprof.part")
	if said := stderr.String(); tools.Status(cmd.ProcessState) != 1 || !strings.Contains(said, "permission denied") || !strings.Contains(said, "wprof-symbolize "+part) {
		t.Errorf("status %d: %s", tools.Status(cmd.ProcessState), said)
	}
	alone(t, inner, false)
	owned(t, part, nobody)
}

// TestReadersNeedNothing runs the other tools without any right, not even to gain one, in an empty folder of another user.
func TestReadersNeedNothing(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := tools.Run(t, "wprof-record", "-d300ms")
	empty, writable := open(t, 0o755), open(t, 0o777)
	bin := open(t, 0o755)
	for _, c := range [][]string{
		{"wprof-filter"}, {"wprof-filter", "-p", "1"}, {"wprof-symbolize"}, {"wprof-symbolize", "--again"}, {"wprof-perfetto"}, {"wprof-flame"}, {"wprof-flame", "--speedscope"},
		{"wprof-json"}, {"wprof-json", "--stream"}, {"wprof-json", "--chrome"}, {"wprof-json", "--firefox"},
		{"wprof-info"}, {"wprof-info", "--check"}, {"wprof-info", "--dump"},
	} {
		tool := filepath.Join(bin, c[0])
		if _, err := os.Stat(tool); err != nil {
			from, err := os.ReadFile(tools.Path(c[0]))
			must(t, err)
			must(t, os.WriteFile(tool, from, 0o755))
		}
		for _, file := range []bool{false, true} {
			args := append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
				"--ambient-caps=-all", tool}, c[1:]...)
			out := filepath.Join(writable, strings.Join(c, ""))
			if file && c[0] != "wprof-info" {
				args = append(args, "-o", out)
			}
			cmd := exec.Command("setpriv", args...)
			cmd.Dir, cmd.Env, cmd.Stdin = empty, []string{}, bytes.NewReader(capture)
			e := run(t, cmd)
			if e.status != 0 || e.stderr.Len() > 0 {
				t.Errorf("%q: status %d: %s", c, e.status, e.stderr.String())
			}
			if file && c[0] != "wprof-info" {
				owned(t, out, nobody)
			} else if e.stdout.Len() == 0 {
				t.Errorf("%q has written nothing", c)
			}
		}
	}
	alone(t, empty, false)
}

// TestUserWithoutRightsGetsAMessage: one sentence, and nothing is made.
func TestUserWithoutRightsGetsAMessage(t *testing.T) {
	tools.NeedPrivilege(t)
	folder := open(t, 0o777)
	e := run(t, asNobody(exec.Command(capable(t, nil), "-d1s", "-o", filepath.Join(folder, "x.wprof"))))
	if said := e.stderr.String(); e.status != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "CAP_BPF") {
		t.Errorf("status %d: %s", e.status, said)
	}
	alone(t, folder, false)
}

// A user may list what can be recorded, and the raw tracepoints with the types of their arguments.
func TestUserListsSources(t *testing.T) {
	tools.NeedPrivilege(t)
	list := run(t, asNobody(exec.Command(tools.Path("wprof-record"), "--list")))
	if list.status != 0 || !strings.Contains(list.stdout.String(), "-f sched ") || !strings.Contains(list.stderr.String(), "recording needs root") {
		t.Errorf("--list: status %d\n%s%s", list.status, &list.stdout, &list.stderr)
	}
	raw := run(t, asNobody(exec.Command(tools.Path("wprof-record"), "--list", "sched_migrate_*")))
	if raw.status != 0 || !strings.Contains(raw.stdout.String(), "raw:sched_migrate_task  p u64 hex, ") || !strings.Contains(raw.stderr.String(), "tracefs") {
		t.Errorf("--list GLOB: status %d\n%s%s", raw.status, &raw.stdout, &raw.stderr)
	}
}
