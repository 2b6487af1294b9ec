package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/spool"
	"wprof/internal/when"
)

// scheduled returns the options of a recording that is to begin in a minute.
func scheduled(t *testing.T) *Config {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); os.Getuid() != 0 || err != nil {
		t.Skip("recording needs root and BTF")
	}
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{
		Duration: 200 * time.Millisecond, CPUs: cpusToServe(cpus), OffCPUMin: time.Millisecond,
		Stacks: Stacks{Timer: 10 * time.Millisecond, Kernel: true, User: true, OffCPU: true},
		Kernel: bpf.Options{Rings: cpusToServe(cpus), RingBytes: 1 << 20, SelfPID: os.Getpid(), Calls: bpf.Calls{Machine: machine()}},
	}
	if err := cfg.setStacks(); err != nil {
		t.Fatal(err)
	}
	spec, err := when.Parse("+1m")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Schedule.ActivateAt, _, err = spec.Resolve(clocks(t), time.UTC); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func clocks(t *testing.T) *format.ClockSnapshot {
	t.Helper()
	c, err := proc.ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPreparedRecorderWaitsWithoutATrace: a recorder that is attached, gathers, forgets that because its opening has become distant, and
// gathers again, has no byte in its rings and its spool until it begins, and then records as any other.
func TestPreparedRecorderWaitsWithoutATrace(t *testing.T) {
	cfg := scheduled(t)
	path := filepath.Join(t.TempDir(), "x.part")
	writer, err := spool.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	r, err := attach(cfg, writer, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if r.threads < 10 || r.gatherAhead() <= gatherTime {
		t.Errorf("%d threads: it would gather %v ahead", r.threads, r.gatherAhead())
	}
	checkSilent(t, r, path, "attached")
	for _, step := range []struct {
		name string
		do   func() error
	}{{"gathered", r.gather}, {"forgotten", func() error { r.forget(); return nil }}, {"gathered again", r.gather}} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		checkSilent(t, r, path, step.name)
	}
	if err := r.begin(&format.Session{Id: 1, Clocks: []*format.ClockSnapshot{clocks(t)}}); err != nil {
		t.Fatal(err)
	}
	nothing := func() {}
	opening := int64(0)
	r.beforeOpen, r.afterClose, r.opening = nothing, nothing, func() { opening = proc.Monotonic() }
	r.openAt = proc.Monotonic() + (300 * time.Millisecond).Nanoseconds()
	if err := r.Run(); err != nil {
		t.Fatal(err)
	}
	late := time.Duration(r.openedAt - r.openAt)
	t.Logf("the window opened %v after its instant, %v before the recorder opened it", late, time.Duration(opening-r.openedAt))
	if late < 0 || opening < r.openAt || r.closedAt-r.openedAt < cfg.Duration.Nanoseconds() {
		t.Errorf("it opened %v after its instant, and %v before it did, for %v", late, time.Duration(opening-r.openedAt), time.Duration(r.closedAt-r.openedAt))
	}
	if fill := sum(r.bytesRead()); fill == 0 {
		t.Error("nothing was written to the rings")
	}
	recorded, err := spool.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	if open, tail := recorded.Tail(); open != r.openedAt || tail == nil || !recorded.HasList() {
		t.Errorf("the spool opens at %d, want %d, with all threads: %v", open, r.openedAt, recorded.HasList())
	}
}

func sum(all []uint64) (n uint64) {
	for _, one := range all {
		n += one
	}
	return n
}

// checkSilent checks that nothing is recorded of programs that run.
func checkSilent(t *testing.T, r *recorder, path, when string) {
	t.Helper()
	for range 20 {
		if err := exec.Command("sh", "-c", "true; true | true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	for i, ring := range r.tracer.Rings() {
		if ring.Producer() != 0 {
			t.Errorf("%s: ring %d has %d bytes", when, i, ring.Producer())
		}
	}
	if stat, err := os.Stat(path); err != nil || stat.Size() != 0 {
		t.Errorf("%s: the spool has %v bytes, %v", when, stat.Size(), err)
	}
}

// TestLateWindowDoesNotOpen: one that was prepared at the last moment is given up, one that was prepared in time opens late.
func TestLateWindowDoesNotOpen(t *testing.T) {
	now := proc.Monotonic()
	for _, c := range []struct {
		openAt, openBy, ready int64
		open                  int64
		err                   error
	}{
		{now - 50, now - 40, now - 60, now - 50, nil},
		{now - 50, now - 40, now - 45, now - 45, nil},
		{now - 50, now - 40, now - 30, 0, errLate},
		{now - 50, now + 1e9, now - 30, now - 30, nil},
	} {
		r := &recorder{openAt: c.openAt, openBy: c.openBy}
		if open, err := r.awaitOpening(c.ready); open != c.open || err != c.err {
			t.Errorf("ready at %d, to open from %d to %d: it opens at %d, %v, want %d, %v", c.ready, c.openAt, c.openBy, open, err, c.open, c.err)
		}
	}
}
