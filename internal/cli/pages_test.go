package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHelpIsCompleteAndNarrow(t *testing.T) {
	help := sample(nil).help()
	for _, line := range strings.Split(help, "\n") {
		if len(line) > helpWidth {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
	for _, want := range []string{"-d, --dur DURATION", "[default: 1s]", "-S[KIND], --stacks[=KIND]", "      --ringbuf-size SIZE", "wprof-sample a b", "--completion SHELL", "  4  the input is damaged"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %q:\n%s", want, help)
		}
	}
}

func TestLongTextOfAnExampleStaysAComment(t *testing.T) {
	tool := sample(nil)
	tool.Examples = []Example{{"wprof-sample -v", "Ten seconds of a process, as a page with a selectable time range and threads."}}
	want := "  # Ten seconds of a process, as a page with a selectable time range and\n  # threads.\n    wprof-sample -v\n"
	if help := tool.help(); !strings.HasSuffix(help, want) {
		t.Errorf("the help does not end with %q:\n%s", want, help)
	}
}

// Only pages of tools that can exit with the status of lost events list it.
func TestExitStatusOfLossIsThatOfItsFlag(t *testing.T) {
	with := sample(nil)
	with.Groups = append(with.Groups, Group{Title: "Loss", Flags: []Flag{{Name: "fail-on-loss", Usage: "Mind losses."}}})
	for _, c := range []struct {
		tool Tool
		want bool
	}{{sample(nil), false}, {with, true}} {
		for page, text := range map[string]string{"help": c.tool.help(), "manual": c.tool.man()} {
			if got := strings.Contains(text, "events were lost"); got != c.want {
				t.Errorf("the %s lists lost events: %v, want %v:\n%s", page, got, c.want, text)
			}
		}
	}
}

func TestCommonFlagsPrintAndDoNotRun(t *testing.T) {
	for _, c := range []struct {
		typed, want string
	}{
		{"--help", "wprof-sample - tries"}, {"-h", "wprof-sample - tries"}, {"a -vh -o b", "wprof-sample - tries"},
		{"--version", "wprof-sample "}, {"--man", ".TH WPROF"}, {"--completion bash", "# bash completion"},
		{"--completion=zsh", "#compdef wprof-sample"}, {"--completion fish", "# fish completion"},
	} {
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		tool := sample(func(*Invocation) error { t.Errorf("%q runs the tool", c.typed); return nil })
		var stderr strings.Builder
		status := Run(tool, strings.Fields(c.typed), Std{In: os.Stdin, Out: out, Err: &stderr})
		if got, _ := os.ReadFile(out.Name()); status != ExitOK || stderr.Len() > 0 || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%q: status %d, %q, stderr %q; want 0 and %q", c.typed, status, got[:min(len(got), 40)], stderr.String(), c.want)
		}
	}
}

func TestManualPageRenders(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff here")
	}
	cmd := exec.Command(groff, "-man", "-Tutf8", "-ww")
	cmd.Stdin = strings.NewReader(sample(nil).man())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") || !strings.Contains(string(out), "five seconds") {
		t.Errorf("groff: %v:\n%s", err, out)
	}
}

// completed returns the words that bash offers at the end of a line, or before ">" in it.
func completed(t *testing.T, script string, line ...string) string {
	t.Helper()
	words, cursor := "", len(line)-1
	if at := slices.Index(line, ">"); at > 0 {
		cursor, line = at-1, slices.Delete(line, at, at+1)
	}
	for _, w := range line {
		words += " '" + w + "'"
	}
	out, err := exec.Command("bash", "-c", fmt.Sprintf("source %s; COMP_WORDS=(%s); COMP_CWORD=%d", script, words, cursor)+`; _wprof_sample; echo "${COMPREPLY[@]}"`).CombinedOutput()
	if err != nil {
		t.Fatalf("bash: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestBashCompletesFlagsAndValues(t *testing.T) {
	script := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(script, []byte(sample(nil).completion("bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"wprof-sample", "--ver"}, "--verbose --version"},
		{[]string{"wprof-sample", "-f", "no-w"}, "no-wakeup"},
		{[]string{"wprof-sample", "-f", "sched,wak"}, "sched,wakeup"},
		{[]string{"wprof-sample", "-f", "sched,"}, "sched,wakeup sched,no-sched sched,no-wakeup"},
		{[]string{"wprof-sample", "--feature=no-sched,wakeup,no-"}, "--feature=no-sched,wakeup,no-wakeup"},
		{[]string{"wprof-sample", "-p", ""}, ""},
		{[]string{"wprof-sample", "-p", "1"}, ""},
		{[]string{"wprof-sample", "--completion", ""}, "bash zsh fish"},
	} {
		if got := completed(t, script, c.line...); got != c.want {
			t.Errorf("%q completes to %q, want %q", c.line, got, c.want)
		}
	}
}

func TestShellsAcceptTheirScripts(t *testing.T) {
	for shell, args := range map[string][]string{"zsh": {"-n"}, "fish": {"--no-execute"}, "bash": {"-n"}} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		script := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(script, []byte(sample(nil).completion(shell)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, append(args, script)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s does not accept its completion: %v: %s", shell, err, out)
		}
	}
}
