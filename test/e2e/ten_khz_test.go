//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// sameAddresses builds two programs that spin for 20 ms each, in functions of two names at the same address. Their code has
// to differ by a number, because the linker's build-id does not depend on names.
func sameAddresses(t *testing.T, dir string) {
	t.Helper()
	for i, name := range []string{"alpha", "beta_"} {
		source := fmt.Sprintf(`#include <time.h>
__attribute__((noinline)) void spin_%s(long end) {
	struct timespec t;
	do { for (int i = 0; i < %d; i++) __asm__ volatile(""); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); } while (t.tv_nsec < end);
}
int main(void) { spin_%s(20000000); }`, name, 10000+i, name)
		file := filepath.Join(dir, name+".c")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-O1", "-no-pie", "-fno-omit-frame-pointer", "-o", filepath.Join(dir, "same-"+name), file).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", file, err, out)
		}
	}
}

// TestTenThousandSamplesASecond takes them beside processes that wake each other and processes that are forked, of which
// two have different code at equal addresses.
func TestTenThousandSamplesASecond(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	sameAddresses(t, dir)
	capture := tools.Record(t, filepath.Join(dir, "busy.wprof"), []string{"-Stimer=10khz"}, func() {
		pipe := exec.Command("perf", "bench", "sched", "pipe", "-l", "100000")
		if err := pipe.Start(); err != nil {
			t.Fatal(err)
		}
		script := `for i in $(seq 25); do "$0/same-alpha" & "$0/same-beta_"; true | cat; (:); wait; done`
		if out, err := exec.Command("bash", "-c", script, dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if err := pipe.Wait(); err != nil {
			t.Error(err)
		}
	})
	tools.Run(t, "wprof-info", "--check", capture)
	spun := map[string]map[string]int{"same-alpha": {}, "same-beta_": {}}
	places := map[string]map[uint64]bool{"same-alpha": {}, "same-beta_": {}}
	samples := 0
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		samples++
		stack := r.Stack(e.Sample().Stack())
		wellFormed(t, r, stack)
		comm := string(r.Task(e.Task).Comm)
		user := stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)]
		if spun[comm] == nil || len(user) == 0 {
			return
		}
		leaf := r.Frame(user[len(user)-1])
		if m := r.Module(leaf.Module); m == nil || filepath.Base(string(m.Path)) != comm {
			return
		}
		name := ""
		if len(leaf.Lines) > 0 {
			name = string(leaf.Lines[0].Function)
		}
		spun[comm][name]++
		places[comm][leaf.Offset] = true
	})
	for comm, own := range map[string]string{"same-alpha": "spin_alpha", "same-beta_": "spin_beta_"} {
		other := map[string]string{"spin_alpha": "spin_beta_", "spin_beta_": "spin_alpha"}[own]
		if spun[comm][own] < 200 || spun[comm][other] > 0 {
			t.Errorf("samples of %s are in %v", comm, spun[comm])
		}
	}
	shared := 0
	for place := range places["same-alpha"] {
		if places["same-beta_"][place] {
			shared++
		}
	}
	if samples < 5000 || shared == 0 {
		t.Errorf("there are %d samples, and %d places that both programs were seen in", samples, shared)
	}
}

// wellFormed checks that a stack has frames, each of them defined, in modules that are.
func wellFormed(t *testing.T, r *format.Reader, s *format.Stack) {
	t.Helper()
	if s == nil || s.IsLost() || len(s.Frames) == 0 || int(s.KernelFrames) > len(s.Frames) {
		t.Fatalf("a sample has the stack %v", s)
	}
	for i, id := range s.Frames {
		f := r.Frame(id)
		if f == nil || f.IsLost() || f.Module != 0 && (r.Module(f.Module) == nil || r.Module(f.Module).IsLost()) {
			t.Fatalf("frame %d of %v is %v", i, s, f)
		}
		m := r.Module(f.Module)
		kernel := m != nil && (m.Kind == uint32(format.ModuleKind_MODULE_KERNEL) || m.Kind == uint32(format.ModuleKind_MODULE_KERNEL_MODULE))
		if i >= len(s.Frames)-int(s.KernelFrames) != kernel {
			t.Fatalf("frame %d of %v is in %v", i, s, m)
		}
	}
}
