package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// beginning is a tool with a flag whose values begin with some words, and a program of its name that lists how they go on.
func beginning(t *testing.T, shell string) (script, program string) {
	t.Helper()
	tool := sample(nil)
	tool.Groups = append(tool.Groups, Group{Title: "More", Flags: []Flag{{
		Name: "probe", Aliases: []string{"P"}, Kind: List, Value: "DEFINITION", Usage: "Record a probe.",
		Begins: []Beginning{{"u:", "a function, say", OfCommand}, {"uret:", "its return", Unlisted}, {"tp:", "a tracepoint", OfMachine}},
	}}})
	dir := t.TempDir()
	script, program = filepath.Join(dir, "completion"), filepath.Join(dir, "wprof-sample")
	lists := "#!/bin/sh\ntest \"$1\" = --list || exit 1\ncase $2$3$4 in u:r*--./server) echo 'u:read (path:./server)'; echo 'u:run (path:./server)' ;; tp:sched:s*) printf 'tp:sched:switch   prev_pid int\\ntp:sched:stop\\n' ;; *) echo \"tp:$2\" ;; esac\n"
	if err := os.WriteFile(script, []byte(tool.completion(shell)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(lists), 0o700); err != nil {
		t.Fatal(err)
	}
	return script, program
}

func TestBashCompletesBeginningsOfValues(t *testing.T) {
	script, program := beginning(t, "bash")
	for _, c := range []struct {
		line []string // as bash cuts it
		want string
	}{
		{[]string{"-P", "u"}, "u: uret:"},
		{[]string{"-P", "ur"}, "uret:"},
		{[]string{"-P", ""}, "u: uret: tp:"},
		{[]string{"-P", "tp", ":", "sched", ":", "s"}, "switch stop"},
		{[]string{"-P", "tp", ":", "sched", ":", "st"}, "stop"},
		{[]string{"--probe", "=", "tp", ":", "sched", ":", "s"}, "switch stop"},
		{[]string{"--probe=tp:sched:s"}, "--probe=tp:sched:switch --probe=tp:sched:stop"}, // where bash does not cut words there
		{[]string{"-P", `"tp:sched:s`}, "tp:sched:switch tp:sched:stop"},
		{[]string{"-P", "u", ":", "s"}, ""},
		{[]string{"-P", "u", ":", "r", ">", "--", "./server"}, "read run"},
		{[]string{"-P", `"u:r`, ">", "-n", "--", "./server", "-v"}, "u:read u:run"},
		{[]string{"-P", "uret", ":", "r", ">", "--", "./server"}, ""},
		{[]string{"-P", "--ver"}, "--verbose --version"},
	} {
		quoted := append([]string{program}, c.line...)
		if got := completed(t, script, quoted...); got != c.want {
			t.Errorf("%q completes to %q, want %q", c.line, got, c.want)
		}
	}
}

func TestFishCompletesBeginningsOfValues(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("there is no fish here")
	}
	script, program := beginning(t, "fish")
	for line, want := range map[string]string{
		"wprof-sample -P u":                "u:\ta function, say|uret:\tits return",
		"wprof-sample -P tp:sched:s":       "tp:sched:stop|tp:sched:switch",
		"wprof-sample --probe=tp:sched:st": "--probe=tp:sched:stop",
		"wprof-sample -P 'tp:sched:st":     "tp:sched:stop",
	} {
		cmd := exec.Command(fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, line)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		got := strings.ReplaceAll(strings.TrimSpace(string(out)), "\tRecord a probe", "")
		if got = strings.ReplaceAll(got, "\n", "|"); err != nil || got != want {
			t.Errorf("%q completes to %q, want %q; %v", line, got, want, err)
		}
	}
}

func TestShellsAcceptBeginnings(t *testing.T) {
	for shell, args := range map[string][]string{"zsh": {"-n"}, "fish": {"--no-execute"}, "bash": {"-n"}} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		script, _ := beginning(t, shell)
		if out, err := exec.Command(path, append(args, script)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s does not accept its completion: %v: %s", shell, err, out)
		}
	}
}
