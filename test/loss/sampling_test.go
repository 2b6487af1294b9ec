//go:build linux

package loss

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/tools"
)

// maxSampleRate is the kernel's bound on samples a second, by which it throttles.
const maxSampleRate = "/proc/sys/kernel/perf_event_max_sample_rate"

func setMaxSampleRate(t *testing.T, rate int) {
	t.Helper()
	if err := os.WriteFile(maxSampleRate, []byte(strconv.Itoa(rate)), 0); err != nil {
		t.Fatalf("set the most samples a second to %d: %v", rate, err)
	}
}

// busy keeps every CPU busy until the test ends.
func busy(t *testing.T) {
	t.Helper()
	for range 2 {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// The bound is lowered for a moment to what throttles a recording at 48 kHz and no other one.
func TestThrottledSamplingIsALoss(t *testing.T) {
	tools.NeedPrivilege(t)
	text, err := os.ReadFile(maxSampleRate)
	if err != nil {
		t.Fatal(err)
	}
	usual, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if usual < 60_000 {
		t.Fatalf("the kernel allows %d samples a second, and the test needs 60,000", usual)
	}
	t.Cleanup(func() { setMaxSampleRate(t, usual) })
	busy(t)
	file := filepath.Join(t.TempDir(), "throttled.wprof")
	r := tools.Start(t, "-d0", "-Stimer=48khz", "--ringbuf-size", "32mb", "--fail-on-loss", "-o", file)
	time.Sleep(100 * time.Millisecond)
	from := proc.Monotonic()
	setMaxSampleRate(t, 30_000)
	time.Sleep(300 * time.Millisecond)
	setMaxSampleRate(t, usual)
	to := proc.Monotonic()
	time.Sleep(100 * time.Millisecond)
	if status := r.Stop(); status != 5 || !strings.Contains(r.Stderr.String(), "the kernel throttled sampling") || !strings.Contains(r.Stderr.String(), "a lower rate helps") {
		t.Fatalf("wprof-record: status %d, want 5: %s", status, r.Stderr.String())
	}
	c := read(t, file)
	throttled, long := 0, int64(0)
	for _, l := range c.losses {
		if l.cause != format.CauseThrottle {
			continue
		}
		throttled++
		long += l.at - l.from
		const slack = 20e6 // the kernel ends throttling at a tick
		if l.kind != format.KindSample || l.count != 0 || l.cpu == format.AllCPUs || l.from < from || l.at > to+slack {
			t.Errorf("the loss %+v, the bound was low from %d to %d", l, from, to)
		}
	}
	if throttled == 0 || long < 10e6 {
		t.Errorf("%d losses report %d ns without samples", throttled, long)
	}
	if text := string(tools.Run(t, "wprof-info", file)); !strings.Contains(text, "throttle") {
		t.Errorf("wprof-info does not report throttling: %s", text)
	}
}

// mapStorm lets a process map code while the recorder stands still, and returns how many mappings did not fit.
func mapStorm(t *testing.T, after func(*tools.Workload)) (c *capture, lost uint64) {
	t.Helper()
	tools.NeedPrivilege(t)
	const maps = 30_000 // of 100 bytes at least, and a buffer has 512 KiB
	w := workloadOf(t, "maps", maps)
	file := filepath.Join(t.TempDir(), "maps.wprof")
	r := tools.Start(t, "-d0", "-o", file)
	signal(t, r, syscall.SIGSTOP)
	w.Send("\n")
	w.Until("done")
	signal(t, r, syscall.SIGCONT)
	after(w)
	if status := r.Stop(); status != 0 || !strings.Contains(r.Stderr.String(), "mappings lost") {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	c = read(t, file)
	for _, l := range c.losses {
		if l.cause == format.CauseSideband {
			lost += l.count
			if l.kind != format.KindSample || l.from > l.at {
				t.Errorf("the loss %+v", l)
			}
		}
	}
	if lost < maps-2*5300 {
		t.Errorf("%d of %d mappings are reported as lost, and at most 5,300 fit into each of two buffers", lost, maps)
	}
	return c, lost
}

func TestMappingsThatWereNotReportedAreALoss(t *testing.T) {
	mapStorm(t, func(w *tools.Workload) {
		time.Sleep(200 * time.Millisecond)
		w.Send("\n") // the next record reports what was lost before
		w.Until("done")
	})
}

func TestMappingsThatWereNotReportedAtTheEndAreALoss(t *testing.T) {
	mapStorm(t, func(*tools.Workload) {})
}
