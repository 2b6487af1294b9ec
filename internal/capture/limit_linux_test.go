package capture

import (
	"maps"
	"strings"
	"testing"

	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]uint32{"syscall=1": 1, "syscall=100k": 100_000, "syscall=1.5M": 1_500_000, "tp=1000m": 1_000_000_000} {
		if _, got, err := parseLimit(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"syscal=1": "did you mean syscall", "sched=1": "no kind", "syscall": "needs a rate", "syscall=": "no number", "syscall=0": "no number", "syscall=-1": "no number",
		"syscall=1e9": "no number", "syscall=1001m": "no number", "syscall=nan": "no number", "syscall=0.5": "no number", "syscall=k": "no number", "syscall=1km": "no number", "syscall=1mk": "no number",
	} {
		if _, _, err := parseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestLimitsAreOfWhatIsRecorded(t *testing.T) {
	cfg := &Config{Tracepoints: []string{"sched:*"}}
	cfg.Kernel.Sources = sources.Of("hardirq") | sources.Of("softirq") | sources.Of("syscall")
	if err := cfg.setLimits([]string{"irq=10", "softirq=20", "tp=30"}); err != nil {
		t.Fatal(err)
	}
	want := map[uint32]uint32{ringdata.TypeHardirq: 10, ringdata.TypeSoftirq: 20, ringdata.MissingTypeTracepoint: 30}
	if !maps.Equal(cfg.Kernel.Limits, want) {
		t.Errorf("%v, want %v", cfg.Kernel.Limits, want)
	}
	if err := new(Config).setLimits([]string{"tp=10"}); err == nil || !strings.Contains(err.Error(), "add -f tp=GROUP:NAME") {
		t.Errorf("%v", err)
	}
	if err := cfg.setLimits([]string{"fault=10"}); err == nil || !strings.Contains(err.Error(), "add -f fault") {
		t.Errorf("%v", err)
	}
}
