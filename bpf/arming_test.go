//go:build linux

package bpf

import (
	"io"
	"testing"
	"time"

	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// TestNothingIsWrittenBeforeArming: attached programs of every kind write nothing and count no loss before they are armed, also
// while samples are taken already and all threads are listed.
func TestNothingIsWrittenBeforeArming(t *testing.T) {
	both := Stacks{Kernel: true, User: true}
	tracer := mustLoad(t, Options{
		Sources: sources.All(), OffCPU: OffCPU{Stacks: both}, Waker: both, SourceStacks: both, FaultStacks: true, LockStacks: true,
		Sample: Sample{Period: time.Millisecond, Kernel: true, User: true},
	})
	must(t, tracer.StartSampling())
	work := func() {
		newPair(t).play(2000, func(play func()) { play() })
		run(t, "sh", "-c", "true; true | true")
	}
	for range 3 {
		work()
		must(t, tracer.ReadTasks(io.Discard))
	}
	for i, ring := range tracer.Rings() {
		if ring.Producer() != 0 || ring.Consumer() != 0 {
			t.Errorf("ring %d has %d bytes before the window is open", i, ring.Producer())
		}
	}
	if losses := tracer.TailLosses(); len(losses) > 0 {
		t.Errorf("losses before the window is open: %+v", losses)
	}
	records := recording(t, tracer, work)
	if n := count(records, func(r record) bool { return r.kind() == ringdata.KindSwitch }); n < 1000 {
		t.Errorf("%d switches once it is open, want 1000 at least of those of the pair", n)
	}
}
