//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/internal/cli"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

// wprof returns a run of wprof, with the script wprof-wallclock on PATH.
func wprof(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(tools.Path("wprof"), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(tools.Wallclock(t).Path)+":"+os.Getenv("PATH"))
	return cmd
}

// outcome runs a command and returns what it printed and its exit status.
func outcome(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%v did not run", cmd.Args)
	}
	return out.String(), err.String(), tools.Status(cmd.ProcessState)
}

func TestEachCommandRunsItsTool(t *testing.T) {
	list, _, _ := outcome(t, wprof(t, "help"))
	for _, c := range cli.Commands() {
		want := strings.Join(append([]string{c.Tool}, c.Args...), " ") + " - " + c.Summary + "\n"
		for _, args := range [][]string{{"help", c.Name}, {c.Name, "--help"}} {
			if got, said, status := outcome(t, wprof(t, args...)); status != 0 || said != "" || !strings.HasPrefix(got, want) {
				t.Errorf("wprof %v: status %d, %q, %.80q; want %q", args, status, said, got, want)
			}
		}
		if !strings.Contains(list, "\n  "+c.Name+" ") {
			t.Errorf("wprof help does not list %s", c.Name)
		}
	}
}

func TestHelpOfReportIsAboutReports(t *testing.T) {
	for _, args := range [][]string{{"help", "report"}, {"report", "-h"}, {"report", "-p1", "--help"}} {
		text, _, _ := outcome(t, wprof(t, args...))
		order := []string{"\nUsage: wprof-info --report [flags] [FILE...]\n", "\nPrint where the time of the threads went", "\nReport:\n", " --limit N ", " --json ", " --pid PID ", "\nExit status:\n", "wprof-info --report -p 1234"}
		for at := 0; len(order) > 0; order = order[1:] {
			next := strings.Index(text[at:], order[0])
			if next < 0 {
				t.Fatalf("wprof %v: %q is not there, or not in this place:\n%s", args, order[0], text)
			}
			at += next
		}
		for _, other := range []string{"--dump", "--undump", "--check", "prints a summary"} {
			if strings.Contains(text, other) {
				t.Errorf("wprof %v mentions %s:\n%s", args, other, text)
			}
		}
	}
	if text, _, _ := outcome(t, wprof(t, "info", "--help")); !strings.Contains(text, "prints a summary") || !strings.Contains(text, "--dump") || !strings.Contains(text, " --report ") {
		t.Errorf("the help of info lacks something:\n%s", text)
	}
}

// starved is a process that waits for a CPU most of the time.
const starved = `section open=1000000000 close=+1s
  cpu 0
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=10 pid=10 comm="late" process_comm="late"
  task 3 tid=20 pid=20 comm="hog" process_comm="hog"
+0 cpu0 state_cpu 3 prio=120
+0 cpu0 state_thread 2 state=R prio=120
+800ms cpu0 switch 3 next=2 prev_state=R+ prev_prio=120 next_prio=120 since=+0 next_state=R
+900ms cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=+800ms next_state=R+
end close=+1s
`

// Commands in a report are those of who reads it.
func TestReportNamesCommandsAsTheyAreTyped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.wprof")
	if err := os.WriteFile(file, fromtext.Stream(t, starved), 0o600); err != nil {
		t.Fatal(err)
	}
	direct, _, _ := outcome(t, exec.Command(tools.Path("wprof-info"), "--report", file))
	byName, said, status := outcome(t, wprof(t, "report", file))
	if want := strings.Replace(direct, "$ wprof-flame --", "$ wprof flame --", 1); status != 0 || said != "" || want == direct || byName != want {
		t.Errorf("wprof report: status %d, %s%s, want %s", status, said, byName, want)
	}
}

func TestWithoutACommandItSaysWhatToDoFirst(t *testing.T) {
	text, said, status := outcome(t, wprof(t))
	if status != 0 || said != "" {
		t.Fatalf("status %d: %s", status, said)
	}
	first, then := strings.Index(text, "sudo wprof record -d5s -o host.wprof"), strings.Index(text, "wprof perfetto --open host.wprof")
	if first < 0 || then < first {
		t.Errorf("it says %q", text)
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 { // with its end
			t.Errorf("%q is wider than a terminal", line)
		}
	}
}

func TestVersionIsACommandToo(t *testing.T) {
	want, _, _ := outcome(t, wprof(t, "--version"))
	if got, said, status := outcome(t, wprof(t, "version")); status != 0 || said != "" || got != want || !strings.HasPrefix(got, "wprof ") {
		t.Errorf("wprof version: status %d, %q, %q; want %q", status, got, said, want)
	}
}

func TestWrongCommandsAreRefused(t *testing.T) {
	for typed, want := range map[string]string{
		"recrod -d5s": "there is no command recrod; did you mean record?", "help flmae": "there is no command flmae; did you mean flame?",
		"-d5s": "there is no flag -d5s; wprof --help lists them", "--": "give a command; wprof help lists them",
		"x.wprof": "there is no command x.wprof; valid are record, report, perfetto, flame, info, json, filter, symbolize, wallclock, help",
	} {
		if got, said, status := outcome(t, wprof(t, strings.Fields(typed)...)); status != 2 || got != "" || said != "wprof: "+want+"\n" {
			t.Errorf("wprof %s: status %d, %q, %q; want %q", typed, status, got, said, want)
		}
	}
}

// The tool takes the place of wprof: process, signals, standard input and output, exit status.
func TestTheToolReplacesTheProcess(t *testing.T) {
	stream := fromtext.Stream(t, "section open=1000000000 close=+1s\nend close=+1s\n")
	for _, in := range [][]byte{stream, stream[:len(stream)-10], []byte("hello")} {
		direct := tools.Try(t, time.Minute, in, "wprof-info")
		cmd := wprof(t, "info")
		cmd.Stdin = bytes.NewReader(in)
		if got, said, status := outcome(t, cmd); got != string(direct.Stdout) || said != string(direct.Stderr) || status != direct.Status {
			t.Errorf("status %d, %q, %q; that of wprof-info is %d, %q, %q", status, got, said, direct.Status, direct.Stdout, direct.Stderr)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := wprof(t, "info", fifo(t))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		comm := fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if name, _ := os.ReadFile(comm); string(name) == "wprof-info\n" {
				break
			}
		}
		time.Sleep(200 * time.Millisecond) // until it has begun to wait
		_ = cmd.Process.Signal(sig)
		if _ = cmd.Wait(); tools.Status(cmd.ProcessState) != 128+int(sig) {
			t.Errorf("a tool that is sent %v has the status %d", sig, tools.Status(cmd.ProcessState))
		}
	}
}

// fifo is a FIFO that nothing writes to.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestToolsAreFoundBesideAndThenOnPath(t *testing.T) {
	beside, path := t.TempDir(), t.TempDir()
	program, err := os.ReadFile(tools.Path("wprof"))
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		beside + "/wprof": string(program), beside + "/wprof-info": "#!/bin/sh\necho beside \"$@\"\n", beside + "/wprof-filter": "is not executable",
		path + "/wprof-info": "#!/bin/sh\necho path \"$@\"\n", path + "/wprof-json": "#!/bin/sh\necho path \"$@\"\n",
	} {
		mode := os.FileMode(0o755)
		if strings.Contains(content, "not executable") {
			mode = 0o644
		}
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(path, "w") // the folder is that of the program, not of a link to it
	if err := os.Symlink(beside+"/wprof", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		stdout string
		stderr string
	}{
		{"info a -b", "beside a -b\n", ""}, {"report a", "beside --report a\n", ""}, {"help report", "beside --report --help\n", ""}, {"json", "path\n", ""},
		{"flame", "", "wprof: run wprof-flame: it is neither in " + beside + " nor on PATH; scripts/install installs all tools\n"},
		{"filter", "", "wprof: run wprof-filter: permission denied\n"},
	} {
		cmd := exec.Command(link, strings.Fields(c.args)...)
		cmd.Env = []string{"PATH=" + path + ":/bin:/usr/bin"}
		if got, said, status := outcome(t, cmd); got != c.stdout || said != c.stderr || (status != 0) != (c.stderr != "") {
			t.Errorf("wprof %s: status %d, %q, %q; want %q, %q", c.args, status, got, said, c.stdout, c.stderr)
		}
	}
}

func TestCommandsAreCompletedInEachShell(t *testing.T) {
	for shell, complete := range map[string]string{
		"bash": `eval "$(wprof --completion bash)"
			COMP_WORDS=($LINE); [[ $LINE != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _wprof; printf '%s\n' "${COMPREPLY[@]}"`,
		"fish": `wprof --completion fish | source; complete -C "$LINE" | string replace -r '\t.*' ''`,
		// Without a line editor zsh has no completion system: these take its place.
		"zsh": `compdef() { :; }; _describe() { print -l ${commands%%:*}; }; _arguments() { local one; for one in $@; [[ $one == *$words[CURRENT]* ]] && print -r -- ${${one%%\[*}#*\)}; }
			eval "$(wprof --completion zsh)"; words=(${=LINE}); [[ $LINE != *" " ]] || words+=(''); CURRENT=$#words; _wprof`,
	} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for line, want := range map[string]string{
			"wprof ": "record", "wprof help ": "symbolize", "wprof record --offcpu": "--offcpu-min", "wprof report --fail-on": "--fail-on-loss", "wprof wallclock --freq": "--frequency",
		} {
			args := []string{"-c", complete}
			if shell == "zsh" {
				args = append([]string{"-f"}, args...)
			}
			cmd := exec.Command(shell, args...)
			wallclock := filepath.Dir(tools.Wallclock(t).Path)
			cmd.Env = append(os.Environ(), "LINE="+line, "PATH="+tools.Folder()+":"+wallclock+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			got, said, _ := outcome(t, cmd)
			if said != "" || !strings.Contains("\n"+strings.ReplaceAll(got, "=", ""), "\n"+want+"\n") {
				t.Errorf("%s: %q completes to %q, %q; want %q among it", shell, line, got, said, want)
			}
		}
	}
}
