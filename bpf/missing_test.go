//go:build linux

package bpf

import (
	"testing"
	"time"
)

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
