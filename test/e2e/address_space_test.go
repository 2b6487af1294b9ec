//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// TestAddressSpaceThatIsEnough: under every limit in which Go's runtime starts and that is below one figure, a tool says that
// figure; from it on the tool works.
func TestAddressSpaceThatIsEnough(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	capture, out := filepath.Join(dir, "x.wprof"), filepath.Join(dir, "out")
	tools.Run(t, "wprof-record", "-d100ms", "-o", capture)
	for _, words := range [][]string{
		{"wprof-record", "-d10ms", "-o", out},
		{"wprof-info", capture}, {"wprof-filter", capture, "-o", out}, {"wprof-symbolize", capture, "-o", out},
		{"wprof-perfetto", capture, "-o", out}, {"wprof-json", capture}, {"wprof-json", capture, "--parquet", out + ".columns"},
		{"wprof-flame", capture}, {"wprof-flame", "--html", capture}, {"wprof-flame", "--svg", capture},
	} {
		t.Run(strings.ReplaceAll(strings.Join(words, " "), dir, ""), func(t *testing.T) {
			status, first := underLimit(words, 800_000)
			m := regexp.MustCompile(`^[^\n]*this process needs (\d+) MiB of address space[^\n]*\n$`).FindStringSubmatch(first)
			if status != 1 || m == nil {
				t.Fatalf("status %d, and it says %q", status, first)
			}
			need, _ := strconv.Atoi(m[1])
			for _, limit := range []int{1_000_000, 1_100_000, 1_400_000, need<<10 - 1} {
				if status, text := underLimit(words, limit); status != 1 || !strings.Contains(text, "needs "+m[1]+" MiB") || strings.Count(text, "\n") != 1 {
					t.Errorf("limited to %d KiB, which is too little: status %d and %.300q", limit, status, text)
				}
			}
			for _, limit := range []int{need << 10, (need + 60) << 10, (need + 400) << 10} {
				if status, text := underLimit(words, limit); status != 0 {
					t.Errorf("limited to %d KiB, which is enough: status %d and %.300q", limit, status, text)
				}
			}
		})
	}
}

// underLimit runs a tool under a limit, and again where the Go runtime fails before main: one start in 30 does, because the
// heap's address is random and the runtime may have to reserve twice as much (docs/reliability.md).
func underLimit(words []string, kib int) (status int, stderr string) {
	for range 5 {
		if status, stderr = underLimitOnce(words, kib); !strings.HasPrefix(stderr, "runtime: out of memory") {
			break
		}
	}
	return status, stderr
}

func underLimitOnce(words []string, kib int) (status int, stderr string) {
	script := fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, kib)
	cmd := exec.Command("sh", append([]string{"-c", script, tools.Path(words[0])}, words[1:]...)...)
	var text bytes.Buffer
	cmd.Stderr = &text
	_ = cmd.Run() // the status says the same
	return cmd.ProcessState.ExitCode(), text.String()
}
