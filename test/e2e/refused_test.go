//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// refusal is a surrounding in which nothing can be recorded.
type refusal struct {
	where string
	with  []string // the command that makes it and runs what stands behind it
	flags []string
	says  string // part of the sentence
}

func refusalsHere() []refusal {
	if text, _ := os.ReadFile("/sys/kernel/security/lockdown"); strings.Contains(string(text), "[confidentiality]") {
		return []refusal{
			{"kernel locked down for confidentiality", nil, nil, "lockdown"},
			{"the same, without stacks", nil, []string{"--no-stacks"}, "lockdown"},
		}
	}
	deny := func(call, errno int) []string {
		return []string{tools.Path("deny"), fmt.Sprint(call), fmt.Sprint(errno)}
	}
	hide := func(dir string) []string {
		return []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs none "$0" && exec "$@"`, dir}
	}
	drop := func(capabilities string) []string {
		return []string{"setpriv", "--bounding-set=" + capabilities, "--inh-caps=" + capabilities}
	}
	return []refusal{
		{"another user than root", []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, nil, "CAP_BPF and CAP_PERFMON"},
		{"root without CAP_BPF", drop("-bpf,-sys_admin"), nil, "CAP_BPF"},
		{"root without CAP_PERFMON", drop("-perfmon,-sys_admin"), nil, "CAP_PERFMON"},
		{"`--stats` without CAP_SYS_ADMIN", drop("-sys_admin"), []string{"--stats"}, "CAP_SYS_ADMIN"},
		{"kernel without BTF", hide("/sys/kernel/btf"), nil, "CONFIG_DEBUG_INFO_BTF"},
		{"`/proc` not mounted", hide("/proc"), nil, "mount /proc"},
		{"`/sys` not mounted", hide("/sys"), nil, "mount /sys"},
		{"process ids of a container's own, `-p 1`", []string{"unshare", "-pf", "--mount-proc"}, []string{"-p", "1"}, "--pid=host"},
		{"perf_event_open(2) forbidden (seccomp)", deny(unix.SYS_PERF_EVENT_OPEN, int(unix.EPERM)), nil, "seccomp"},
		{"kernel without perf events", deny(unix.SYS_PERF_EVENT_OPEN, int(unix.ENOSYS)), nil, "CONFIG_PERF_EVENTS"},
		{"bpf(2) forbidden (seccomp)", deny(unix.SYS_BPF, int(unix.EPERM)), nil, "seccomp"},
		{"kernel without bpf(2)", deny(unix.SYS_BPF, int(unix.ENOSYS)), nil, "CONFIG_BPF_SYSCALL"},
		{"root in a user namespace", []string{"unshare", "--user", "--map-root-user"}, nil, "user namespace"},
		{"the same, without stacks", []string{"unshare", "--user", "--map-root-user"}, []string{"--no-stacks"}, "user namespace"},
		{"no room for the spool", []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=64k none "${3%/*}" && exec "$0" "$@"`}, nil, "free some space"},
		{"3 open files at most", []string{"sh", "-c", `ulimit -n 3 && exec "$0" "$@"`}, nil, "ulimit -n"},
		{"1 GB of address space at most", []string{"sh", "-c", `ulimit -v 1000000 && exec "$0" "$@"`}, nil, "ulimit -v"},
		{"16 open files at most, without CAP_SYS_RESOURCE", append(drop("-sys_resource"), "sh", "-c", `ulimit -n 16 && exec "$0" "$@"`), nil, "ulimit -n"},
	}
}

// scripts/test-kernels puts what is logged here into docs/kernels.md.
func TestWhatIsMissingIsReportedInOneSentence(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, r := range refusalsHere() {
		t.Run(r.where, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.wprof")
			words := append(append(append([]string{}, r.with...), tools.Path("wprof-record"), "-d100ms", "-o", file), r.flags...)
			if len(r.with) > 0 && r.with[0] == "setpriv" {
				if err := os.Chmod(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(words[0], words[1:]...)
			out, _ := cmd.CombinedOutput()
			refused := strings.TrimPrefix(string(out), "wprof-record: the spool is on a tmpfs and takes memory; name a file on a disk with -o\n")
			said, ok := strings.CutPrefix(strings.TrimSpace(refused), "wprof-record: ")
			t.Logf("refused: %s | %s", r.where, said)
			if status := cmd.ProcessState.ExitCode(); status != 1 || !ok || strings.Contains(said, "\n") || !strings.Contains(said, r.says) {
				t.Errorf("status %d and %q, want 1 and one sentence with %q", status, out, r.says)
			}
			if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) > 0 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}
