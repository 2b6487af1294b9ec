//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wprof/test/tools"
)

// framesOf returns the lines of frames and their functions in a capture's text, but for those of the recorder, which has no build-id, so that no
// archive has its lines.
func framesOf(t *testing.T, capture string) (lines []string) {
	t.Helper()
	recorder, kept := "", false
	for line := range strings.Lines(string(tools.Run(t, "wprof-info", "--dump", capture))) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "module":
			if strings.Contains(line, `/wprof-record"`) {
				recorder = "module=" + words[1]
			}
			continue
		case "frame":
			kept = words[2] != recorder
		case "line":
		default:
			continue
		}
		if kept {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestArchiveGivesTheSameNamesInAnEmptyRoot records programs and the libraries under them, and names them once here and once where
// nothing but the capture and the archive exists.
func TestArchiveGivesTheSameNamesInAnEmptyRoot(t *testing.T) {
	programs := theHotPrograms(t)
	root := t.TempDir()
	capture, here, there := filepath.Join(root, "host.wprof"), filepath.Join(t.TempDir(), "here.wprof"), filepath.Join(root, "there.wprof")
	tools.Run(t, "wprof-record", "-Stimer=1khz", "--symbolize=no", "-o", capture, "--",
		"sh", "-c", `for i in 0 1 2; do for p in "$0"/hot-09*; do "$p" || exit; done; done; sha256sum "$0"/hot-* >/dev/null`, programs.dir)
	tools.Run(t, "wprof-symbolize", "--collect", filepath.Join(root, "symbols.tar"), capture)
	tools.Run(t, "wprof-symbolize", capture, "-o", here)

	if out, err := exec.Command("cp", tools.Path("wprof-symbolize"), root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("/wprof-symbolize", "--symbol-archive", "symbols.tar", "host.wprof", "-o", "there.wprof")
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Chroot: root}, "/"
	cmd.Env = []string{"TMPDIR=/"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("in the empty root: %v: %s", err, out)
	}
	want, got := framesOf(t, here), framesOf(t, there)
	if strings.Join(got, "") != strings.Join(want, "") {
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("got %d frames, want %d; the first that differs is\n%s, want\n%s", len(got), len(want), got[i], want[i])
			}
		}
		t.Fatalf("got %d frames, want %d", len(got), len(want))
	}
	if !strings.Contains(strings.Join(got, ""), `function="hot"`) {
		t.Errorf("the functions of the programs have no names:\n%s", strings.Join(got[:min(len(got), 20)], ""))
	}
}
