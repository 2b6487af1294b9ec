package length

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// TestFlightRecordersMemoryAndDiskAreFlat records two loads, one that brings new processes, files and code all the time and one that passes a
// byte back and forth as fast as it can. In the end there are a snapshot and the last window, each with exactly what came before it.
func TestFlightRecordersMemoryAndDiskAreFlat(t *testing.T) {
	tools.NeedPrivilege(t)
	long := flightFor(t)
	startLoads(t)
	const window, room = 2 * time.Second, int64(1 << 30) // room for two million events a second
	dir := tools.DiskFolder(t)
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, "-F2s,1gb", "-o", file)
	sizes, disk := watchFlight(t, r, file+".part", long)
	requested := proc.Monotonic()
	snapshot := takeSnapshot(t, r, filepath.Join(dir, "x.1.wprof"))
	stopped := proc.Monotonic()
	got := endFlight(t, r, file, disk, room)
	early, late := compared(sizes, long, 120) // its heap takes two minutes to grow to where garbage is collected
	t.Logf("soak: flight recorder of %v and %s for %v: memory without its rings: %s, %s; disk %s at most", window, mib(room), long, early, late, mib(slices.Max(disk)))
	t.Logf("soak: its window of %v has %d thousand events a second, %d lost", got.window, int64(float64(got.events)/got.window.Seconds()/1e3), got.lost)
	if limit := bound(early.median, long); late.median > limit {
		t.Errorf("memory grew from %s to %s while recording; the bound is %s", early, late, mib(limit))
	}
	for _, last := range []struct {
		what  string
		got   windowCounts
		since int64
	}{{"the snapshot", snapshot, requested}, {"the last window", got, stopped}} {
		if last.got.window != window || last.got.lost > 0 || last.got.closed < last.since {
			t.Errorf("%s is %v long with %d lost events, and ends %v after its request; want %v and none", last.what, last.got.window, last.got.lost,
				time.Duration(last.got.closed-last.since), window)
		}
	}
}

// takeSnapshot requests a snapshot, waits until it is complete, and reads it.
func takeSnapshot(t *testing.T, r *tools.Recorder, file string) windowCounts {
	t.Helper()
	if err := r.Cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(r.Stderr.String(), ": snapshot "+file); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is no snapshot: the recorder says %s", r.Stderr.String())
		}
	}
	return checkedWindow(t, file)
}

// Where the window does not fit into the size, it is shorter.
func TestFlightRecordersDiskIsBounded(t *testing.T) {
	tools.NeedPrivilege(t)
	startLoads(t)
	file := filepath.Join(tools.DiskFolder(t), "x.wprof")
	r := tools.Start(t, "-F60s,64mb", "-o", file)
	_, disk := watchFlight(t, r, file+".part", 8*time.Second)
	got := endFlight(t, r, file, disk, 64<<20)
	if got.window < 200*time.Millisecond || got.window > 7*time.Second || got.lost > 0 {
		t.Errorf("a window of %v with %d lost events: what was recorded in 8 s does not fit, and something does", got.window, got.lost)
	}
}

func startLoads(t *testing.T) {
	t.Helper()
	for _, name := range []string{"load", "fast"} {
		cmd := exec.Command(tools.Path(name))
		if err := cmd.Start(); err != nil {
			t.Fatalf("start the load: %v", err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// endFlight stops a flight recorder, and checks what its spool took of the disk and what it has written.
func endFlight(t *testing.T, r *tools.Recorder, file string, disk []int64, room int64) windowCounts {
	t.Helper()
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	if most := slices.Max(disk); most > room {
		t.Errorf("the spool took %s of the disk, and may take %s", mib(most), mib(room))
	}
	return checkedWindow(t, file)
}

// flightFor is how long to record.
func flightFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("WPROF_SOAK_FLIGHT")
	if text == "" {
		return 15 * time.Second
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("WPROF_SOAK_FLIGHT: %v", err)
	}
	return long
}

// watchFlight looks once a second at the recorder's resident memory without rings, and ten times as often at what its spool takes of the
// disk.
func watchFlight(t *testing.T, r *tools.Recorder, spool string, long time.Duration) (sizes, disk []int64) {
	t.Helper()
	tenths := time.NewTicker(100 * time.Millisecond)
	defer tenths.Stop()
	for i, end := 0, time.Now().Add(long); time.Now().Before(end); i++ {
		var stat unix.Stat_t
		if err := unix.Stat(spool, &stat); err != nil {
			t.Fatal(err)
		}
		disk = append(disk, stat.Blocks*512)
		if i%10 == 0 {
			size, err := residentWithoutRings(r.Cmd.Process.Pid)
			if err != nil {
				t.Fatalf("read the recorder in /proc: %v", err)
			}
			sizes = append(sizes, size)
		}
		<-tenths.C
	}
	return sizes, disk
}

// windowCounts are what a capture holds.
type windowCounts struct {
	counts
	window time.Duration
}

// checkedWindow reads a capture that has to be sound.
func checkedWindow(t *testing.T, file string) (got windowCounts) {
	t.Helper()
	tools.Run(t, "wprof-info", "--check", file)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got.counts = countStream(f)
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.window = time.Duration(got.closed - got.opened)
	return got
}
