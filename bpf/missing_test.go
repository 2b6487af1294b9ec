//go:build linux

package bpf

import (
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// User space uses some maps even if no program that is loaded does.
func TestFewProgramsLoadAlone(t *testing.T) {
	const none = format.GroupSched | format.GroupWakeup | format.GroupTaskLife | format.GroupSamples | format.GroupWaits
	for _, o := range []Options{{Off: none}, {Off: none, Sources: sources.Set(1 << ringdata.TypeMigration)}} {
		tracer := mustLoad(t, o)
		must(t, tracer.Arm())
		must(t, tracer.Disarm())
		tracer.TailLosses()
		must(t, tracer.Close())
	}
}

func TestLimitsPassTheirRate(t *testing.T) {
	for rate, want := range map[uint32]struct {
		events uint32
		window time.Duration
	}{
		1: {1, time.Second}, 3: {1, time.Second / 3}, 10: {1, time.Second / 10}, 15: {1, time.Second / 15}, 19: {1, time.Second / 19}, 100_000: {10_000, time.Second / 10},
		MaxLimit: {MaxLimit / 10, time.Second / 10},
	} {
		if events, window := limitOf(rate); events != want.events || window != want.window {
			t.Errorf("%d a second: %d every %v, want %d every %v", rate, events, window, want.events, want.window)
		}
	}
}
