package chrome

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wprof/test/page"
)

// viewer is Chrome's own trace viewer, as Perfetto's interface brings it along.
func viewer(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../build/engine/*/assets/catapult_trace_viewer.html")
	if len(found) == 0 {
		missing := "Chrome's trace viewer is missing; scripts/fetch-engine downloads it"
		if os.Getenv("CI") != "" || os.Getenv("WPROF_TEST_ALL") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return found[0]
}

// The viewer of chrome://tracing loads the JSON without a warning, and has all slices, stacks and arrows.
func TestTraceViewerReadsTheJSON(t *testing.T) {
	t.Parallel()
	p := page.Open(t, viewer(t))
	p.Wait(`document.querySelector('x-profiling-view')`)
	p.Eval(fmt.Sprintf(`document.querySelector('x-profiling-view').setActiveTrace('box.json', atob(%q))`, base64.StdEncoding.EncodeToString(written(t))), nil)
	p.Wait(`(document.querySelector('x-profiling-view').timelineView_?.model?.flowEvents ?? []).length`)
	var got struct {
		Warnings []any
		Threads  map[string]float64 // ms of slices by name
		Arrows   []string
		Stacks   int
	}
	said := p.Text(`(() => {
		const m = document.querySelector('x-profiling-view').timelineView_.model;
		const threads = {};
		for (const thread of m.getAllThreads()) for (const s of thread.sliceGroup.slices) {
			if (s.duration > 0) threads[thread.name + ': ' + s.title] = (threads[thread.name + ': ' + s.title] ?? 0) + s.duration;
		}
		const arrows = m.flowEvents.map((f) => f.startSlice.title + ' -> ' + f.endSlice.title);
		return JSON.stringify({Warnings: m.importWarnings, Threads: threads, Arrows: arrows, Stacks: Object.keys(m.stackFrames).length});
	})()`)
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"CPU 0: ping": 400, "CPU 0: pong": 300, "ping: Running": 400, "ping: Runnable (preempted)": 300, "ping: blocked: unknown (D)": 300,
		"pong: Running": 300, "pong: Runnable": 100, "pong: blocked: wait_for_ball": 100, "pong: blocked: unknown (S)": 500,
	}
	for name, us := range want {
		if d := got.Threads[name]*1000 - us; d > 0.001 || d < -0.001 {
			t.Errorf("%s lasts %v ms, want %v µs", name, got.Threads[name], us)
		}
	}
	arrows := []string{"wakes pong -> Running", "preempts ping -> Running"}
	if len(got.Warnings) > 0 || len(got.Threads) != len(want) || got.Stacks != 2 || !slices.Equal(got.Arrows, arrows) {
		t.Errorf("the viewer has %s", said)
	}
}
