//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// TestResidentMemoryIsThatOfProc compares counters with what a program reads of itself after it has touched and freed memory.
func TestResidentMemoryIsThatOfProc(t *testing.T) {
	tools.NeedPrivilege(t)
	program := compileC(t, "resident")
	file, output := filepath.Join(t.TempDir(), "resident.wprof"), filepath.Join(t.TempDir(), "resident.txt")
	tools.Run(t, "wprof-record", "-f", "memory", "-o", file, "--", "sh", "-c", "exec "+program+" > "+output)
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	opened, lines := openTime(t, file), sourceLines(t, file, "rss")
	// The kernel adds the changes of each CPU in batches, and what it reports lacks as much.
	cpus := uint64(runtime.NumCPU())
	slack := 2 * cpus * max(32, 2*cpus) * uint64(os.Getpagesize())
	steps := 0
	for line := range strings.Lines(string(text)) {
		var at int64
		var anon, shared, mapped uint64
		if _, err := fmt.Sscan(line, &at, &anon, &mapped, &shared); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		steps++
		var last *sourceLine
		for i := range lines {
			if l := &lines[i]; l.Task.Comm == "resident" && opened+int64(l.TS*1e9) <= at {
				last = l
			}
		}
		if last == nil {
			t.Fatalf("step %d: there is no value before", steps)
		}
		for name, want := range map[string]uint64{"anon": anon, "file": mapped, "shmem": shared} {
			if got := last.number(name); got > want+slack || want > got+slack {
				t.Errorf("step %d: the capture has %d bytes of %s memory, the kernel reported %d", steps, got, name, want)
			}
		}
	}
	if steps != 5 || len(lines) == 0 {
		t.Fatalf("%d steps, %d values", steps, len(lines))
	}
	// A value is written where the kernel's counter has changed, not for each fault.
	faults := (64<<20 + 16<<20) / os.Getpagesize()
	if n := len(lines); n > faults/8 {
		t.Errorf("%d values of about %d faults", n, faults)
	}
	trace := filepath.Join(t.TempDir(), "trace.pb")
	tools.Run(t, "wprof-perfetto", "-o", trace, file)
	rows := engine.Query(t, trace, `select max(c.value) as most from counter c join process_counter_track t on t.id = c.track_id join process p using (upid)
		where t.name = 'Resident anon' and p.name glob '*resident*'`)[0]
	if most, _ := rows[0]["most"].(float64); most < 64<<20 || most > 70<<20 {
		t.Errorf("Perfetto shows at most %v bytes of anonymous memory", rows[0]["most"])
	}
}

// TestFencesAreRecordedOnceEach runs a program that makes fences and waits for them, where a device for tests makes that possible.
func TestFencesAreRecordedOnceEach(t *testing.T) {
	tools.NeedPrivilege(t)
	if all, _ := filepath.Glob("/sys/devices/platform/vgem/drm/card*"); len(all) == 0 {
		t.Skip("this kernel has no vgem device: modprobe vgem")
	}
	program := compileC(t, "fences")
	file := filepath.Join(t.TempDir(), "fences.wprof")
	tools.Run(t, "wprof-record", "-f", "gpu", "-o", file, "--", program, "10")
	fences, waits := 0, 0
	for _, l := range sourceLines(t, file, "fence", "fence_wait") {
		driver, _ := l.Args["driver"].(string)
		if !strings.HasPrefix(driver, "vgem_fence") || l.Dur <= 0 {
			continue
		}
		if l.Name == "fence" {
			fences++
		} else {
			waits++
		}
	}
	if fences != 10 || waits != 10 {
		t.Errorf("the program made 10 fences and waited for each, the capture has %d and %d waits", fences, waits)
	}
}
