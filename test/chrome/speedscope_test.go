package chrome

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"wprof/internal/chrome"
	"wprof/test/fromtext"
	"wprof/test/page"
)

// capture is 1 ms of two threads, of which one wakes the other and is preempted by it, and has stacks.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 open=1000000000 close=+1000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=ping process_comm=ping start=5
task 3 tid=101 pid=100 comm=pong process_comm=ping start=6
module 1 path="/bin/ping" build_id=01abcd kind=file
frame 1 module=1 offset=0x1100 caller
  line function="main" file="ping.c" line=7
frame 2 module=1 offset=0x1200
  line function="wait_for_ball"
stack 1 frames=1,2
+0 cpu0 state_cpu 2 prio=120 since=-50
+0 cpu0 state_thread 3 state=S prio=120 since=-100
+100000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
+150000 cpu0 sample 2 stack=1 source=1
+200000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-100 next_state=S stack=1
+500000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=+200000 next_state=R+
+700000 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
end close=+1000000
`

func written(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	r := fromtext.Reader(t, capture)
	if _, err := chrome.Write(r, &out, chrome.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Speedscope has a profile of each CPU and each thread, with the right names and times.
func TestSpeedscopeReadsTheJSON(t *testing.T) {
	t.Parallel()
	p := page.Speedscope(t, "box.json", written(t))
	p.Wait(`document.body.innerText.includes('/3)')`)
	var saved struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Name   string
			Unit   string
			Events []struct {
				Type  string
				At    float64
				Frame int
			}
		}
	}
	if err := json.Unmarshal(p.SavedBySpeedscope(), &saved); err != nil {
		t.Fatal(err)
	}
	type key struct{ profile, slice string }
	got := make(map[key]float64)
	for _, profile := range saved.Profiles {
		for _, e := range profile.Events {
			name, _, _ := strings.Cut(saved.Shared.Frames[e.Frame].Name, " {")
			if profile.Unit != "microseconds" {
				t.Errorf("%s counts %s, want microseconds", profile.Name, profile.Unit)
			}
			if e.Type == "C" {
				got[key{profile.Name, name}] += e.At
			} else {
				got[key{profile.Name, name}] -= e.At
			}
		}
	}
	cpu, ping, pong := "CPUs (pid 4194305), CPU 0 (tid 4194321)", "ping (pid 100), ping (tid 100)", "ping (pid 100), pong (tid 101)"
	want := map[key]float64{
		{cpu, "ping"}: 400, {cpu, "pong"}: 300,
		{ping, "Running"}: 400, {ping, "Runnable (preempted)"}: 300, {ping, "blocked: unknown (D)"}: 300,
		{pong, "Running"}: 300, {pong, "Runnable"}: 100, {pong, "blocked: wait_for_ball"}: 100, {pong, "blocked: unknown (S)"}: 500,
	}
	for k, us := range want {
		if math.Abs(got[k]-us) > 0.001 {
			t.Errorf("%v lasts %v µs, want %v", k, got[k], us)
		}
	}
	if len(got) != len(want) {
		t.Errorf("speedscope has %v, want %v", got, want)
	}
}
