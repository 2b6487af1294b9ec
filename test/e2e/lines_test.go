//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/internal/symbol"
	"wprof/test/tools"
)

// inlining spins in a function that is inlined into another.
const inlining = `volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner(void) { for (int i = 0; i < 1000; i++) sink += i; }
__attribute__((noinline)) void outer(void) { inner(); }
int main(void) { for (;;) outer(); }
`

// TestLinesOfRecorderAndOfRecovery: wprof-record --lines stores lines, without it there are none, and a recording whose recorder was
// killed gets them when it is finished.
func TestLinesOfRecorderAndOfRecovery(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "inlining")
	if err := os.WriteFile(program+".c", []byte(inlining), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-g", program+".c", "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	spinning := exec.Command(program)
	if err := spinning.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = spinning.Process.Kill()
		_ = spinning.Wait()
	})
	hasLines := func(capture string) bool {
		text := string(tools.Run(t, "wprof-info", "--dump", capture))
		if !strings.Contains(text, `line function="outer"`) {
			t.Errorf("%s: the program has no samples", capture)
		}
		return strings.Contains(text, `line function="inner" file="`+dir+`/inlining.c" line=2`)
	}
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		t.Fatal(err)
	}
	kernel := fmt.Sprintf(`path="[kernel]" build_id=%x base=`, symbol.BuildIDIn(notes, binary.NativeEndian, 4))
	for name, flags := range map[string][]string{"plain": nil, "lines": {"--lines"}} {
		out := filepath.Join(dir, name)
		tools.Run(t, "wprof-record", append(flags, "-d1s", "-o", out)...)
		if text := string(tools.Run(t, "wprof-info", "--dump", out)); !strings.Contains(text, kernel) {
			t.Errorf("%s: no module %s", name, kernel)
		}
		if got := hasLines(out); got != (flags != nil) {
			t.Errorf("%s: lines: %v", name, got)
		}
	}
	killed := filepath.Join(dir, "killed.wprof")
	r := tools.Start(t, "-d120s", "-o", killed)
	time.Sleep(1500 * time.Millisecond)
	_ = r.Cmd.Process.Kill()
	r.Wait()
	for name, flags := range map[string][]string{"with": nil, "without": {"--no-lines"}} {
		out := filepath.Join(dir, name)
		if r := tools.Try(t, time.Minute, nil, "wprof-symbolize", append(flags, killed+".part", "-o", out)...); r.Status != 4 {
			t.Fatalf("status %d: %s", r.Status, r.Stderr)
		}
		if got := hasLines(out); got != (flags == nil) {
			t.Errorf("recovered %s: lines: %v", name, got)
		}
	}
}
