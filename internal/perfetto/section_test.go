package perfetto

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/fromtext"
)

// The second window opens after a suspend of 7 s, by which BOOTTIME has advanced; the threads keep their identity.
const secondWindow = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10002000000 close=+1000000
  cpu 0
  cpu 1
  clock monotonic=10002000000 boottime=22002000000 realtime=1700000007002000000
task 1 tid=100 pid=100 comm=ping process_comm=ping ppid=1 start=5
task 2 tid=0 pid=0 comm=swapper flags=2
task 3 tid=200 pid=200 comm=renamed process_comm=renamed ppid=1 start=7
+0 cpu0 state_cpu 1 prio=120
+0 cpu1 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120
+1000 cpu0 switch 1 next=3 prev_state=D prev_prio=120 next_prio=120
end close=+1000000
`

func TestTwoWindowsAndASuspendBetweenThem(t *testing.T) {
	rows := query(t, written(t, machine+opening1+"end close=+1000000\n"+secondWindow), noteSQL,
		`select to_realtime(15000000000) as first, to_realtime(22002000000) as second`, threadNamesSQL)
	compare(t, "sched", rows[0][2:], schedFields, `
		0 100 0 1000000 I
		0 0 1000000 7001000000 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 0 1000001 0 R
		0 1 1000001 0 -
		0 2 1000001 0 -
		0 20 1000001 0 -
		0 21 1000001 0 -
		0 100 1000001 0 -
		0 101 1000001 0 -
		0 200 1000001 0 -
		0 100 7002000000 1000 D
		0 200 7002001000 999000 I
		0 0 7003000000 0 -
		1 0 0 1000000 R
		1 0 1000000 7002000000 R
		1 0 7003000000 0 -
	`)
	compare(t, "slices", rows[2], "track name ts dur", `
		All CPUs not recorded 1000000 7001000000
	`)
	compare(t, "wall clock", rows[3], "first second", `
		1700000000000000000 1700000007002000000
	`)
	compare(t, "threads", rows[4], "tid names", `
		100 1
		200 1
	`)
}

const threadNamesSQL = `select tid, count(*) as names from thread where tid in (100, 200) group by tid order by tid`

// The difference of the clocks changes within a window: events after the second snapshot have the new one.
func TestSuspendWithinAWindow(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		clock monotonic=10000002000 boottime=18000002000 realtime=1700000003000002000
		+2000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`), `select to_realtime(15000001000) as before, to_realtime(18000002000) as after`)
	compare(t, "sched", rows[0][2:6], schedFields, `
		0 100 0 1000 S
		0 0 1000 3000001000 R
		0 100 3000002000 998000 I
		0 0 3001000000 0 -
	`)
	compare(t, "wall clock", rows[2], "before after", `
		1700000000000001000 1700000003000002000
	`)
}

func TestEpochGoesOnInTheSameWindow(t *testing.T) {
	epoch := `
		+1000 cpu0 switch 2 next=4 prev_state=S prev_prio=120 next_prio=120
		end close=+500000
		section continues open=10000000000 close=+1000000 boot_id=b
		task 1 tid=200 pid=200 comm=sleeper process_comm=sleeper ppid=1 start=7
		task 2 tid=0 pid=0 comm=swapper flags=2
		task 3 tid=100 pid=100 comm=ping process_comm=ping ppid=1 start=5
		+500000 cpu0 state_cpu 1 prio=120
		+500000 cpu1 state_cpu 2 prio=120
		+500000 cpu0 state_thread 3 state=S prio=120
		+600000 cpu0 switch 1 next=3 prev_state=R+ prev_prio=120 next_prio=120
		end close=+1000000
	`
	rows := query(t, written(t, machine+opening1+epoch), threadNamesSQL)
	compare(t, "sched", rows[0][2:], schedFields, `
		0 100 0 1000 S
		0 200 1000 599000 R+
		0 100 600000 400000 I
		0 0 1000000 0 -
		1 0 0 1000000 R
		1 0 1000000 0 -
	`)
	compare(t, "threads", rows[2], "tid names", "100 1\n200 1\n")
}

func TestTruncatedStreamBecomesAWholeTrace(t *testing.T) {
	stream := fromtext.Stream(t, machine+opening1+`
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000`)
	at := bytes.Index(stream, []byte("sleeper")) + 200 // within the events
	r, err := format.NewReader(bytes.NewReader(stream[:at]))
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	if _, err := Convert(r, &trace, schedOnly()); err != nil {
		t.Fatal(err)
	}
	if r.Damage() == nil {
		t.Fatal("the stream was not cut within its events")
	}
	name := t.TempDir() + "/trace.pb"
	if err := os.WriteFile(name, trace.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := query(t, name, noteSQL)
	if len(rows[2]) != 1 || rows[2][0]["name"] != "lost: damage" {
		t.Errorf("slices are %v, want the damage", rows[2])
	}
}

func TestOverlappingSectionsEndWellFormed(t *testing.T) {
	second := strings.Replace(secondWindow, "boot_id=b", "boot_id=other", 1)
	stream := fromtext.Stream(t, machine+opening1+"end close=+1000000\n"+second)
	r, err := format.NewReader(struct{ *bytes.Buffer }{bytes.NewBuffer(stream)}) // a pipe
	if err != nil {
		t.Fatal(err)
	}
	name := t.TempDir() + "/trace.pb"
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := Convert(r, out, schedOnly()); !errors.Is(err, format.ErrOverlap) {
		t.Errorf("got error %v, want ErrOverlap", err)
	}
	rows := query(t, name)
	if len(rows[0]) == 0 {
		t.Error("the first section is missing")
	}
}

// A trace that is cut after any packet still loads, and every thread in it has its name.
func TestCutTraceStillLoads(t *testing.T) {
	r, err := format.NewReader(bytes.NewReader(pingPong(t, 50_000)))
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	if _, err := Convert(r, &trace, schedOnly()); err != nil {
		t.Fatal(err)
	}
	cut := 0
	for cut < trace.Len()*6/10 {
		n := protowire.ConsumeFieldValue(tracePacket, protowire.BytesType, trace.Bytes()[cut+1:])
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		cut += 1 + n
	}
	name := t.TempDir() + "/cut.pb"
	if err := os.WriteFile(name, trace.Bytes()[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	engine.CheckStats(t, name)
	rows := engine.Query(t, name, `select count(*) as slices, sum(thread.name is null) as unnamed from sched join thread using (utid)`)
	if n := rows[0][0]["slices"].(int64); n < 5_000 || rows[0][0]["unnamed"] != int64(0) {
		t.Errorf("the cut trace has %v", rows[0][0])
	}
}
