package capture

import (
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/assemble"
)

func TestSummaryNamesCostAndLoss(t *testing.T) {
	o := Outcome{
		Events: 1234567, Threads: 312, Window: 5 * time.Second, CPU: 210 * time.Millisecond,
		SpoolBytes: 54_300_000, OutputBytes: 5_120_000, RingBytes: 8 << 20,
	}
	want := "recorded 1,234,567 events of 312 threads in 5.00 s; cost 210 ms of CPU, 54.3 MB of spool, 5.1 MB of output; nothing lost"
	if got := o.Summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.Losses = []*format.Loss{
		{Cpu: 1, Kind: 1, Cause: uint32(format.CauseRing), Count: 12000},
		{Cpu: 0, Kind: 2, Cause: uint32(format.CauseRing), Count: 345},
		{Cpu: format.AllCPUs, Cause: uint32(format.CauseRecursion), Count: 1},
	}
	want = "recorded 1,234,567 events of 312 threads in 5.00 s; cost 210 ms of CPU, 54.3 MB of spool, 5.1 MB of output; " +
		"lost 12,346 events (0.99%: ring full on CPU 0+1, a program interrupted itself); --ringbuf-size 32mb helps"
	if got := o.Summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatLimitsLeftOutIsNotLost(t *testing.T) {
	o := Outcome{Losses: []*format.Loss{
		{Cpu: 1, Kind: uint32(format.KindTyped), Cause: uint32(format.CauseLimit), Type: []byte("syscall"), Count: 12000},
		{Cpu: 0, Kind: uint32(format.KindTyped), Cause: uint32(format.CauseLimit), Type: []byte("syscall"), Count: 1},
		{Cpu: 0, Kind: uint32(format.KindTyped), Cause: uint32(format.CauseLimit), Type: []byte("page_fault"), Count: 1},
	}}
	if got, want := o.Summary(), "; nothing lost; --limit left out 1 event of page_fault, 12,001 events of syscall"; !strings.HasSuffix(got, want) || o.Lossy() {
		t.Errorf("%s, lossy: %t", got, o.Lossy())
	}
	o.Losses = append(o.Losses, &format.Loss{Kind: uint32(format.KindTyped), Cause: uint32(format.CauseRing), Type: []byte("syscall"), Count: 7})
	if got, want := o.Summary(), "lost 7 events (100%: ring full on CPU 0)"; !strings.Contains(got, want) || !o.Lossy() {
		t.Errorf("%s, lossy: %t", got, o.Lossy())
	}
}

func TestShareOfLostEvents(t *testing.T) {
	for _, c := range []struct {
		lost, recorded uint64
		want           string
	}{{7, 0, "100%"}, {312736, 39, "99%"}, {1, 1, "50%"}, {1, 80, "1.2%"}, {1, 99999, "0.001%"}, {1, 1000000, "<0.001%"}} {
		if got := lostShare(c.lost, c.recorded); got != c.want {
			t.Errorf("%d lost, %d recorded: got %s, want %s", c.lost, c.recorded, got, c.want)
		}
	}
}

func TestUsefulFlagsAreNamedEvenWithoutCounts(t *testing.T) {
	o := Outcome{Rate: 100 * time.Microsecond, Losses: []*format.Loss{{Cpu: 1, Kind: uint32(format.KindSample), Cause: uint32(format.CauseThrottle)}}}
	want := "lost an unknown number of events (the kernel throttled sampling on CPU 1); a lower rate helps (-Stimer=5000hz)"
	if got := o.lossText(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.PMU = true // the kernel does not report which event it throttled
	want = "lost an unknown number of events (the kernel throttled sampling on CPU 1); a lower rate or longer period of what -S samples helps"
	if got := o.lossText(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSizesAreWrittenAsTheFlagsTakeThem(t *testing.T) {
	for n, want := range map[int]string{8 << 20: "8mb", 512 << 10: "512kb", 1 << 30: "1gb", 1000: "1000b"} {
		if got := sizeFlag(n); got != want {
			t.Errorf("sizeFlag(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestManyCutStacksAreReportedWithTheirModules(t *testing.T) {
	o := Outcome{
		Stacks: assemble.StackCount{User: 1000, Cut: 300},
		Modules: []assemble.ModuleFrames{
			{Path: "/usr/bin/few", Cut: 60}, {Path: "/usr/bin/none"}, {Path: "/usr/lib/libc.so.6", Cut: 240},
		},
	}
	want := "30% of 1,000 user stacks look cut (80% /usr/lib/libc.so.6, 20% /usr/bin/few): " +
		"code without frame pointers hides its callers; "
	if got := o.CutText(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "build it with -fno-omit-frame-pointer") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.ByTables = true
	want += "it has no call frame information, or its tables were not ready yet"
	if got := o.CutText(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	damaged := o
	damaged.Losses = []*format.Loss{{Cause: uint32(format.CauseSpool)}}
	if got := damaged.CutText(); got != "" {
		t.Errorf("%q, where mappings are lost with the spool", got)
	}
	o.Stacks.Cut = 200
	if got := o.CutText(); got != "" {
		t.Errorf("a fifth is reported: %s", got)
	}
}

// TestCutStacksOfGeneratedCodeGetNoAdviceForCompilers: flags of compilers and tables do not apply to it.
func TestCutStacksOfGeneratedCodeGetNoAdviceForCompilers(t *testing.T) {
	for _, byTables := range []bool{true, false} {
		o := Outcome{
			ByTables: byTables, Stacks: assemble.StackCount{User: 1000, Cut: 300},
			Modules: []assemble.ModuleFrames{
				{Path: "//anon", Kind: format.ModuleKind_MODULE_ANON, Cut: 100}, {Path: "/tmp/perf-1.map", Kind: format.ModuleKind_MODULE_JIT, Cut: 200},
			},
		}
		const want = "30% of 1,000 user stacks look cut (100% generated code): code without frame pointers hides its callers"
		if got := o.CutText(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
