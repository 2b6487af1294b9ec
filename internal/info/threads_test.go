package info

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/fromtext"
)

const threadsText = `
section open=1000000000 close=+100ms id=7
task 1 tid=0 pid=0 flags=2
task 2 tid=20 pid=20 start=5
task 3 tid=30 pid=30 start=6
+0 cpu0 state_cpu 2 since=-1ms
+0 cpu0 state_thread 3 state=S since=-1s
+10ms cpu0 waking 2 wakee=3
+30ms cpu0 switch 2 next=3 prev_state=R+ since=-1s next_state=S
+40ms cpu0 switch 3 next=1 prev_state=S
+50ms cpu0 switch 1 next=2 prev_state=R since=+30ms next_state=R+
`

// Thread 20 runs for 30 ms, waits for the CPU for 20 ms, and runs for 50 ms; 30 is blocked for 10, runnable for 20, runs for 10, and is
// blocked for 60 ms.
func TestTimesOfThreads(t *testing.T) {
	got, _ := printed(t, fromtext.Stream(t, threadsText+"end close=+100ms\n"))
	if want := "\nthreads     0.090 s running, 0.040 s runnable, 0.070 s blocked\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestTimesOfThreadsInEpochsAndRecordings(t *testing.T) {
	epoch := strings.NewReplacer("close=+100ms", "close=+200ms").Replace(threadsText) + `
end close=+100ms last=false
section continues open=1000000000 close=+200ms id=7
task 5 tid=20 pid=20 start=5
task 6 tid=30 pid=30 start=6
+100ms cpu0 state_cpu 5 since=+50ms
+100ms cpu0 state_thread 6 state=S since=+40ms
+150ms cpu0 lost from=+120ms count=1 cause=ring what=switch
end close=+200ms
section open=2000000000 close=+100ms id=8
task 1 tid=20 pid=20 start=5
+0 cpu0 state_cpu 1 since=-1ms
end close=+100ms
`
	file, pipe := summarized(t, fromtext.Stream(t, epoch), bytes.NewReader(fromtext.Stream(t, epoch)))
	for _, s := range []*Summary{file, pipe} {
		for i, want := range []ThreadTimes{
			{Running: 110e6, Runnable: 40e6, Blocked: 90e6, Unknown: 160e6, To: 1200e6, All: true}, {Running: 100e6, To: 2100e6, All: true},
		} {
			if got := s.Recordings[i]; got.Threads == nil || *got.Threads != want {
				t.Errorf("recording %d: %+v, want %+v", i, got.Threads, want)
			}
		}
	}
}

// Times of a part of the events end with the last one, and are marked.
func TestTimesOfThreadsInAPart(t *testing.T) {
	stream := fromtext.Stream(t, threadsText+strings.Repeat("+60ms cpu0 waking 2 wakee=3\n", 2000)+"end close=+100ms\n")
	samples := readEvents(bytes.NewReader(stream), time.Now().Add(-time.Hour))
	s, err := Summarize(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	s.join(samples)
	var out strings.Builder
	if err := s.Print(&out, "x"); err != nil {
		t.Fatal(err)
	}
	if want := "\nthreads     of the first 0.060 s: 0.050 s running, 0.040 s runnable, 0.030 s blocked\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%swant %s", out.String(), want)
	}
	if got := s.report("").Recordings[0].Threads; got.All || got.ToNs != 60e6 || got.RunningNs != 50e6 {
		t.Errorf("JSON has %+v", got)
	}
}

// A regular file whose session has no samples or stacks is read too.
func TestTimesOfThreadsOfAFileWithoutStacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.wprof")
	if err := os.WriteFile(path, fromtext.Stream(t, threadsText+"end close=+100ms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Summarize(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Recordings[0].Threads; got == nil || got.Runnable != 40*int64(time.Millisecond) || format.Sum(got.Running, got.Blocked) != 160e6 {
		t.Errorf("got %+v", got)
	}
}

// A process is listed by the command line after its last exec, one without by its name.
func TestProcessesAreListedByCommandLine(t *testing.T) {
	got, _ := printed(t, fromtext.Stream(t, `
section open=1000000000 close=+100ms id=7
cmdline 1 args="sh\x00./run.sh\x00"
cmdline 2 args="/usr/bin/python3\x00/srv/server.py\x00"
task 1 tid=0 pid=0 flags=2
task 2 tid=20 pid=20 start=5 comm=sh process_comm=sh command=1
task 3 tid=20 pid=20 start=5 comm=python3 process_comm=python3 command=2 continues=2
task 4 tid=21 pid=20 start=6 comm=worker process_comm=python3 command=2
task 5 tid=30 pid=30 start=7 comm=kswapd0 process_comm=kswapd0
+0 cpu0 state_cpu 2 since=-1ms
+20ms cpu0 exec 3 prev=2
+30ms cpu0 switch 3 next=5 prev_state=R+
end close=+100ms
  process 20 comm=python3 ns=30000000 start=5
  process 30 comm=kswapd0 ns=70000000 start=7
`))
	for _, want := range []string{"pid 20  python3 server.py\n", "pid 30  kswapd0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
