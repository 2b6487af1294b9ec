//go:build linux

package ending

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

// TestClosedStandardOutputIsRefused: what a tool has to say goes nowhere then, and it says so, as date(1) does. The null
// device is a place like any other, and the answer of --check is its exit status.
func TestClosedStandardOutputIsRefused(t *testing.T) {
	file := tools.Convert(t, filepath.Join(t.TempDir(), "c.wprof"), "wprof-info", "--undump", emptySection(t))
	runs := [][]string{
		{"wprof-info", file}, {"wprof-info", "--dump", file}, {"wprof-flame", file}, {"wprof-filter", file},
		{"wprof-json", file}, {"wprof-perfetto", file}, {"wprof-symbolize", file}, {"wprof-info", "--version"}, {"wprof-flame", "--help"},
		{"wprof-filter", "--man"}, {"wprof-json", "--completion", "bash"},
	}
	if os.Getuid() == 0 {
		runs = append(runs, []string{"wprof-record", "-d1s"}, []string{"wprof-record", "-d1s", "--live"}, []string{"wprof-record", "-d1s", "-o", "/dev/stdout"})
	}
	for _, args := range runs {
		args[0] = tools.Path(args[0])
		for script, want := range map[string]int{`exec "$@" >&-`: 1, `exec "$@" >&- 2>&-`: 1} {
			status, said := runScript(t, script, args)
			if status != want || !strings.Contains(script, "2>") && (strings.Count(said, "\n") != 1 || !strings.Contains(said, "standard output: it is closed")) {
				t.Errorf("%s, %v: status %d, want %d: %s", script, args, status, want, said)
			}
		}
	}
	for _, script := range []string{`exec "$@" --check >&-`, `exec "$@" --check 1<>/dev/null`, `exec "$@" >/dev/null`, `exec "$@" <>/dev/null >&0 2>&0`, `exec "$@" </dev/null >/dev/null 2>/dev/null`} {
		if status, said := runScript(t, script, []string{tools.Path("wprof-info"), file}); status != 0 {
			t.Errorf("%s: status %d: %s", script, status, said)
		}
	}
}

func runScript(t *testing.T, script string, args []string) (status int, stderr string) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return tools.Status(cmd.ProcessState), said.String()
}

// emptySection is the text of a recording in which nothing happens.
func emptySection(t *testing.T) string {
	t.Helper()
	text := "section id=0x1 host=\"box\" boot_id=\"b\" open=1000 close=+1ms\n  cpu 0\nend close=+1ms\n"
	file := filepath.Join(t.TempDir(), "c.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
