package perfetto

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

const noteSQL = `select track.name as track, slice.name as name, ts - 15000000000 as ts, dur, depth,
	extract_arg(arg_set_id, 'debug.count') as count, extract_arg(arg_set_id, 'debug.cause') as cause,
	extract_arg(arg_set_id, 'debug.kind') as kind from slice join track on track.id = track_id order by ts, track, name`

// The thread on a CPU ends where a loss begins; the CPU's track continues with the first event that names its thread.
func TestLossEndsWhatRan(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 switch 2 next=4 prev_state=S prev_prio=120 next_prio=120
		+5000 cpu0 lost from=+3000 count=17 cause=ring what=switch
		+5000 cpu0 lost from=+2000 count=3 cause=recursion what=waking
		+6000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+7000 all lost from=+6500 cause=damage
		+8000 cpu1 waking 3 wakee=4 prio=120 target_cpu=0
		+9000 cpu1 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		end close=+1000000
	`), noteSQL)
	compare(t, "sched", rows[0][2:], schedFields+" name", `
		0 100 0 1000 S ping
		0 200 1000 2000 I sleeper
		0 4195329 3000 3000 I (lost)
		0 0 3001 0 R swapper
		0 200 3001 0 - sleeper
		0 100 6000 0 S ping
		0 0 6000 500 R swapper
		0 4195329 6500 993500 I (lost)
		0 0 1000000 0 - swapper
		1 0 0 6500 R swapper
		1 4195330 6500 1500 I (lost)
		1 101 8000 1000 D pong
		1 0 9000 991000 R swapper
		1 0 1000000 0 - swapper
	`)
	compare(t, "slices", rows[2], "track name ts dur depth count cause kind", `
		CPU 0: lost and late lost waking: recursion 2000 3000 0 3 recursion waking
		CPU 0: lost and late lost switch: ring 3000 2000 0 17 ring switch
		All CPUs lost: damage 6500 500 0 - damage any
	`)
}

// A late event is drawn where it stands and, if its CPU has not gone on since, where it belongs.
func TestLateEventsAreMarked(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
		+3000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 own=+2000
		+4000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+5000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 own=+3500
		end close=+1000000
	`), noteSQL)
	compare(t, "sched", rows[0][3:], schedFields, `
		0 0 1000000 0 -
		1 0 0 2000 R
		1 101 2000 2000 S
		1 0 4000 996000 R
		1 0 1000000 0 -
	`)
	compare(t, "slices", rows[2], "track name ts dur kind", `
		CPU 1: lost and late late switch 2000 1000 switch
		CPU 1: lost and late late switch 3500 1500 switch
	`)
}

// More losses at a time than a track can nest keep their length as far as tracks go.
func TestOverlappingLossesDoNotCutEachOther(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+2000 cpu0 lost from=+1000 count=1 cause=ring what=switch
		+2500 cpu0 lost from=+1500 count=1 cause=ring what=waking
		+2500 cpu0 lost from=+2000 count=1 cause=ring what=fork
		end close=+1000000
	`), noteSQL)
	compare(t, "slices", rows[2], "name ts dur depth", `
		lost switch: ring 1000 1000 0
		lost waking: ring 1500 1000 0
		lost fork: ring 2000 500 0
	`)
}

// The engine refuses a whole trace for one CPU beyond its limit.
func TestCPUsThatTheEngineRefusesAreLeftOut(t *testing.T) {
	r, err := format.NewReader(bytes.NewReader(fromtext.Stream(t, machine+opening1+`
		+1000 cpu1024 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+2000 cpu5000 lost from=+1500 count=1 cause=ring what=switch
		+2000 cpu1023 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`)))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "trace.pb")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	done, err := Convert(r, out, schedOnly())
	if err != nil || done.SkippedCPUs != 1 {
		t.Errorf("%d events skipped, want 1 (%v)", done.SkippedCPUs, err)
	}
	rows := query(t, name, `select max(cpu) as cpu from sched`)
	compare(t, "CPUs", rows[2], "cpu", "1023\n")
}
