package graph

import (
	"testing"
	"time"

	"wprof/internal/flame/profile"
)

func TestCaptionNamesThreadsAndLosses(t *testing.T) {
	worker := &profile.Thread{TID: 12, PID: 10, Label: 1}
	main := &profile.Thread{TID: 10, PID: 10, Label: 2}
	other := &profile.Thread{TID: 77, PID: 77, Label: 3}
	p := &profile.Profile{
		About: profile.About{
			Host: "web1", Start: time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600)), Window: 30e9, Span: 30e9,
			Sources: []profile.Source{{Name: "timer", Period: 10_101_010}}, CutStacks: 3, UserStacks: 100, Lost: 1,
			OffCPU: "blocks of 1 ms and more", MinBlock: 1e6, ShortBlocks: 2345e6,
		},
		Labels: []profile.Label{{}, {Comm: "work", Process: "nginx"}, {Comm: "nginx", Process: "nginx"}, {Comm: "sh", Process: "sh"}},
		Slot:   1e9, Slots: 30,
	}
	for _, c := range []struct {
		threads         []*profile.Thread
		v               View
		title, subtitle string
	}{
		{
			[]*profile.Thread{main, worker}, View{}, "Wall-clock time · nginx-10 · web1",
			"30 s from 2026-03-04 04:06:07 UTC · 99 Hz timer, 0 samples · off-CPU stacks: blocks of 1 ms and more · " +
				"1 event lost · 3% of user stacks cut · 2.35 s in off-CPU intervals under 1 ms left out",
		},
		{
			[]*profile.Thread{main, worker}, View{Mode: OnCPU, Only: func(t *profile.Thread) bool { return t == worker }, From: 3, To: 5},
			"On-CPU time · work-10/12 · web1",
			"3 s to 5 s of 30 s from 2026-03-04 04:06:07 UTC · 99 Hz timer, 0 samples · 1 event lost · " +
				"3% of user stacks cut",
		},
		{
			[]*profile.Thread{main, other}, View{Mode: Waker, NoIdleWaits: true}, "Off-CPU time by waker · 2 processes · web1",
			"30 s from 2026-03-04 04:06:07 UTC · off-CPU stacks: blocks of 1 ms and more · 1 event lost · " +
				"3% of user stacks cut · 2.35 s in off-CPU intervals under 1 ms left out · waits for work left out",
		},
	} {
		p.Threads = c.threads
		title, subtitle := Caption(p, c.v)
		if title != c.title || subtitle != c.subtitle {
			t.Errorf("got  %s\n     %s\nwant %s\n     %s", title, subtitle, c.title, c.subtitle)
		}
	}
	title, subtitle := Caption((&profile.Profile{About: profile.About{IsLossy: true}}), View{Mode: OnCPU})
	if title != "On-CPU time · no threads" || subtitle != "0 ns · no sampling, 0 samples · events lost" {
		t.Errorf("of nothing: %s, %s", title, subtitle)
	}
}

// A command that wprof-record started has its own name, not the recorder's, and a low share of sampled time is reported.
func TestCaptionNamesTheProcessWithMostTime(t *testing.T) {
	on := func(label profile.LabelID, stack profile.NodeID, ns int64) profile.Cell {
		return profile.Cell{CellKey: profile.CellKey{Class: profile.ClassOnCPU, Label: label, Stack: stack}, Ns: ns}
	}
	p := &profile.Profile{
		About:  profile.About{Window: 1e9, Sources: []profile.Source{{Name: "timer"}}},
		Labels: []profile.Label{{}, {Comm: "wprof-record", Process: "wprof-record"}, {Comm: "work", Process: "work"}},
		Frames: []profile.Frame{{}, {Functions: []profile.Function{{Name: "main"}}}, {Note: true, Functions: []profile.Function{{Name: "[not sampled]"}}}},
		Nodes:  []profile.Node{{}, {Frame: 1}, {Frame: 2}},
	}
	for _, c := range []struct {
		sampled, not    int64
		v               View
		title, subtitle string
	}{
		{42e6, 57e6, View{}, "Wall-clock time · work-9", "1 s · timer, 0 samples · each on-CPU interval by its own samples · 58% of the time on CPU not sampled · nothing lost"},
		{200e6, 0, View{Mode: OnCPU}, "On-CPU time · work-9", "1 s · timer, 0 samples · each on-CPU interval by its own samples · nothing lost"},
		{42e6, 57e6, View{Mode: OffCPU}, "Off-CPU time · work-9", "1 s · nothing lost"},
	} {
		p.Threads = []*profile.Thread{
			{PID: 9, Label: 1, Cells: []profile.Cell{on(1, 2, 1e6)}},
			{PID: 9, Label: 2, Cells: []profile.Cell{on(2, 1, c.sampled), on(2, 2, c.not)}},
		}
		title, subtitle := Caption(p, c.v)
		if title != c.title || subtitle != c.subtitle {
			t.Errorf("got  %s\n     %s\nwant %s\n     %s", title, subtitle, c.title, c.subtitle)
		}
	}
}

func TestNumbersAreInThreeDigits(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1 µs", 999_400: "999 µs", 999_600: "1 ms", 12_340_000: "12.3 ms", 1e9: "1 s",
		99_960_000_000: "100 s", 1_234_567_000_000: "1,235 s",
	} {
		if got := Spell(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0%", 0.00001: "<0.01%", 0.0123: "1.23%", 0.5: "50%", 0.1234: "12.3%", 1: "100%"} {
		if got := percent(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}
