//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

const tutorial = "../../docs/why-is-my-service-slow.md"

// TestTutorialFindsEachIllness follows the tutorial from top to bottom: it starts the service as the page does, with the fixes that the
// page applies up to there, runs the commands, and compares what the report of each capture finds with what the page says that it finds.
func TestTutorialFindsEachIllness(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, name := range []string{"redis-server", "redis-cli", "cc", "patch", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("there is no %s here; scripts/test installs it", name)
		}
	}
	page, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var shop *service
	recorded := regexp.MustCompile(`-o (\S+\.wprof)`)
	finds := map[string]string{"slow.wprof": "one-lock", "lock.wprof": "waiting-for-peer", "keys.wprof": ""}
	for _, command := range tutorialCommands(string(page)) {
		if args, ok := strings.CutPrefix(command, "docs/tutorial/start"); ok {
			shop.stop()
			shop = startService(t, strings.Fields(args)...)
			continue
		}
		// The recording of chosen processes waits for the tables with which their stacks are unwound, also on a busy machine.
		command = strings.Replace(command, "wprof record ", "wprof record -p "+shop.processes()+" ", 1)
		try(t, dir, command)
		if m := recorded.FindStringSubmatch(command); m != nil {
			want, known := finds[m[1]]
			delete(finds, m[1])
			if got := firstFinding(t, filepath.Join(dir, m[1])); !known || got != want {
				t.Errorf("the first finding in %s is %q, want %q", m[1], got, want)
			}
		}
	}
	for name := range finds {
		t.Errorf("the page does not record %s", name)
	}
}

// tutorialCommands are the page's commands, and its starts of the service.
func tutorialCommands(page string) (all []string) {
	for line := range strings.Lines(page) {
		if start := strings.TrimPrefix(strings.TrimSpace(line), "$ "); strings.HasPrefix(line, "    ") && strings.HasPrefix(start, "docs/tutorial/start") {
			all = append(all, start)
		}
		for _, command := range commands(line) {
			all = append(all, regexp.MustCompile(`-d ?[0-9]+s\b`).ReplaceAllString(command, "-d1500000us"))
		}
	}
	return all
}

// firstFinding is the kind of the shop's first finding, "" if there is none. Waits for a CPU are those of the machine.
func firstFinding(t *testing.T, capture string) string {
	t.Helper()
	var report struct{ Findings []struct{ Kind string } }
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--report", "--json", "-n", "shop", capture), &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Kind != "cpu-starved" {
			return f.Kind
		}
	}
	return ""
}

// service is a running docs/tutorial/start.
type service struct {
	t   *testing.T
	cmd *exec.Cmd
}

// startService starts the service with patches, and waits until its clients have had answers for a second.
func startService(t *testing.T, patches ...string) *service {
	t.Helper()
	cmd := exec.Command("../../docs/tutorial/start", patches...)
	cmd.Env = append(os.Environ(), "PORT="+freePort(t), "REDIS_PORT="+freePort(t), "SECONDS_A_LINE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, cmd: cmd}
	t.Cleanup(s.stop)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), "requests/s") {
		t.Fatalf("docs/tutorial/start prints %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return s
}

// processes are the service's process ids, with commas between them.
func (s *service) processes() string {
	s.t.Helper()
	ids, err := exec.Command("pgrep", "-d,", "-P", strconv.Itoa(s.cmd.Process.Pid)).Output()
	if err != nil {
		s.t.Fatalf("the service has no processes: %v", err)
	}
	return strings.TrimSpace(string(ids))
}

// stop ends the service as Ctrl-C does.
func (s *service) stop() {
	if s == nil || s.cmd == nil {
		return
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	late := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	_ = s.cmd.Wait()
	late.Stop()
	s.cmd = nil
}

// freePort is a port that is free, below those that the kernel gives to clients: a connection's client is the end with such a port.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestTutorialShowsItsPatches compares the differences on the page with the files that docs/tutorial/start applies.
func TestTutorialShowsItsPatches(t *testing.T) {
	page, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?ms)^```diff\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	for i, name := range []string{"lock.diff", "keys.diff"} {
		patch, err := os.ReadFile(filepath.Join("../../docs/tutorial", name))
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(shown) || shown[i][1] != string(patch) {
			t.Errorf("difference %d on the page is not %s", i+1, name)
		}
	}
}
