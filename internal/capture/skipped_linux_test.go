package capture

import (
	"slices"
	"testing"

	"wprof/format"
	"wprof/internal/spool"
)

func TestSkippedProgramsAreLosses(t *testing.T) {
	got := skipped([]*format.ProgramCost{
		{Name: "sched_switch", Runs: 5, RecursionMisses: 3}, {Name: "sched_waking", Runs: 7},
		{Name: "user_worker", RecursionMisses: 4}, {Name: "sample", RecursionMisses: 2}, {Name: "sched_exit_tp", RecursionMisses: 1},
	}, 42)
	want := []spool.Loss{
		{CPU: format.AllCPUs, Kind: format.KindSwitch, Cause: format.CauseRecursion, Count: 3, From: 42},
		{CPU: format.AllCPUs, Kind: format.KindFork, Cause: format.CauseRecursion, Count: 4, From: 42},
		{CPU: format.AllCPUs, Kind: format.KindSample, Cause: format.CauseRecursion, Count: 2, From: 42},
		{CPU: format.AllCPUs, Cause: format.CauseDefinition, Count: 1, From: 42}, // writes no events but stacks
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
