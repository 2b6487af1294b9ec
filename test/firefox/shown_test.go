//go:build linux

package firefox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/firefox"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "shift", Source: "testdata/shift.c", Flags: []string{"-pthread", "-fno-omit-frame-pointer"}})
}

// Two threads share a CPU, and events of types that the section defines.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 machine=x86_64 open=1000000000 close=+10000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
task 3 tid=101 pid=100 comm="\xfflazy\"" process_comm=busy start=6
module 1 path="/bin/busy" build_id=01abcd kind=file
module 2 path="[kernel]" kind=kernel
frame 1 module=1 offset=0x1100 caller
  line function="work" file="work.h" line=3
  line function="main" file="busy.c" line=7
frame 2 module=2 offset=0x10
  line function="vfs_read"
stack 1 frames=1
stack 2 frames=1,2 kernel_frames=1
text 1 text="GET"
eventtype 1 name="request" shape=span track="requests"
  field "path" type=string hint=name
  field "method" type=text
  field "size" type=uint unit="bytes"
  field "peer" type=task
  field "wait" type=duration
  field "load" type=float
  field "from" type=stack
  field "to" type=stack
eventtype 2 name="queue" on=process
  field "depth" type=int hint=counter unit="entries"
eventtype 3 name="note" on=global
  field "flags" type=uint hint=hex
eventtype 4 name="clock" on=cpu
  field "mhz" type=float hint=counter
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+1000000 cpu0 typed 2 type=2 .depth=5
+1500000 cpu0 typed 0 type=4 .mhz=2400.5
+2000000 cpu0 sample 2 stack=1 source=1
+2500000 cpu0 typed 2 type=1 start=+1500000 .path="/a" .method=1 .size=4096 .peer=3 .wait=7000 .load=0.5 .from=1 .to=2
+3000000 cpu0 typed 2 type=2 .depth=-3
+3500000 cpu0 typed 0 type=3 .flags=255
+4000000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
+5000000 cpu0 switch 2 next=3 prev_state=D prev_prio=120 next_prio=120 since=-1000 next_state=S stack=2
+6000000 cpu0 exec 3 prev=3 filename=/bin/true
+7000000 cpu0 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
end close=+10000000
`

// What the importer has of a profile is what the capture says.
func TestImporterShowsTheCapture(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := fromtext.Reader(t, capture)
	if _, err := firefox.Write(r, &out, firefox.Options{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "box.json")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	i := open(t, file)
	byName := make(map[string]*thread)
	for _, one := range i.threads() {
		byName[one.Name] = &one
	}
	busy, lazy := byName["busy"], byName["�lazy\""]
	if busy == nil || lazy == nil || busy.CPUMs != 5 || lazy.CPUMs != 2 || lazy.TID != "101" || lazy.PID != "100" || lazy.ProcessName != "busy" {
		t.Fatalf("threads: %+v %+v", busy, lazy)
	}
	if sums := fmt.Sprint(i.milliseconds(busy), i.milliseconds(lazy)); sums != "map[Blocked:5 Blocked/unknown (uninterruptible):5 User:5] "+
		"map[Blocked:7 Blocked/unknown (interruptible):7 Running:2 Waiting for CPU:1 Waiting for CPU/runnable:1]" {
		t.Errorf("times: %s", sums)
	}
	shows(t, i, busy, `
Running 0 +5 Running CPU: 0, priority: 120, left it in state: D
/a 1.5 +1 request CPU: 0, method: GET, size: 4,096B, peer: �lazy" 101, wait: 7μs, load: 0.50, to: vfs_read, work, main
Wakes 4 +0 Wakes thread: �lazy" 101, to run on CPU: 0, CPU: 0
Off CPU 5 +5 Off CPU state: D, not ended: yes`)
	shows(t, i, lazy, `
Off CPU 0 +5 Off CPU in: vfs_read, state: S, woken by: busy 100, waited for a CPU: 1ms, whole length: 5.001ms
Running 5 +2 Running CPU: 0, priority: 120, left it in state: S
Execs 6 +0 Execs program: /bin/true, CPU: 0
Off CPU 7 +3 Off CPU state: S, not ended: yes`)
	shows(t, i, byName["Recording"], `note 3.5 +0 note CPU: 0, flags: 0xff`)

	var counters struct {
		Counters []struct {
			Name, PID, Unit string
		}
	}
	i.query(&counters, "counter", "list")
	if text := fmt.Sprint(counters.Counters); text != "[{clock mhz of CPU 0 CPUs number} {queue depth 100 number}]" {
		t.Errorf("counters: %s", text)
	}
	var tree struct {
		HeaviestStack struct {
			Frames []struct{ NameWithLibrary string }
		}
	}
	i.query(&tree, "thread", "samples", "--thread", "t-"+fmt.Sprint(busy.ThreadIndex))
	if text := fmt.Sprint(tree.HeaviestStack.Frames); text != "[{busy!main} {busy!work}]" {
		t.Errorf("heaviest stack: %s", text)
	}
}

func shows(t *testing.T, i *importer, of *thread, want string) {
	t.Helper()
	var got []string
	for _, m := range i.markers(of) {
		line := fmt.Sprintf("%s %g +%g %s", m.Name, m.Start, m.Duration, strings.TrimPrefix(m.MarkerType, "event "))
		for n, f := range m.Fields {
			line += map[bool]string{true: " ", false: ", "}[n == 0] + f.Label + ": " + f.FormattedValue
		}
		got = append(got, line)
	}
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("markers of %s:\n%s\nwant:\n%s", of.Name, text, strings.TrimSpace(want))
	}
}
