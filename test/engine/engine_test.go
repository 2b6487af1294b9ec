package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wprof/internal/perfetto/schema"
)

// traceOf writes a trace of one bundle of CPU 0.
func traceOf(t *testing.T, events ...*schema.FtraceEvent) string {
	t.Helper()
	return file(t, &schema.Trace{Packet: []*schema.TracePacket{{
		TrustedPacketSequenceId: proto.Uint32(1),
		FtraceEvents:            &schema.FtraceEventBundle{Cpu: proto.Uint32(0), Event: events},
	}}})
}

func file(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "trace.pb")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func switchTo(at uint64, prev, next int32) *schema.FtraceEvent {
	return &schema.FtraceEvent{Timestamp: &at, Pid: proto.Uint32(uint32(prev)), SchedSwitch: &schema.SchedSwitch{
		PrevPid: &prev, PrevComm: proto.String("a"), PrevState: proto.Int64(1), NextPid: &next, NextComm: proto.String("b"),
	}}
}

func TestValuesComeAsTheyAre(t *testing.T) {
	rows := Query(t, traceOf(t, switchTo(1000, 1, 2)),
		`select 1 << 62 as big, -7 as small, 2.0 as half, null as none, 'x"' || char(10) || 'y' as text`, `select 1 as one where 0`)
	want := Row{"big": int64(1) << 62, "small": int64(-7), "half": 2.0, "none": nil, "text": "x\"\ny"}
	if len(rows) != 2 || len(rows[0]) != 1 || len(rows[1]) != 0 {
		t.Fatalf("got %v", rows)
	}
	for column, value := range want {
		if got := rows[0][0][column]; got != value {
			t.Errorf("%s: got %#v, want %#v", column, got, value)
		}
	}
}

func TestTracesDoNotMix(t *testing.T) {
	for _, next := range []int32{2, 3} {
		rows := Query(t, traceOf(t, switchTo(1000, 1, next)), `select tid from sched join thread using (utid)`)
		if len(rows[0]) != 1 || rows[0][0]["tid"] != int64(next) {
			t.Errorf("got %v, want thread %d alone", rows, next)
		}
	}
}

// A trace stays loaded for further queries; other content under its name is loaded.
func TestChangedTraceIsLoadedAgain(t *testing.T) {
	Need(t)
	trace := traceOf(t)
	replace := func(next int32) {
		content, err := os.ReadFile(traceOf(t, switchTo(1000, 1, next)))
		if err == nil {
			err = os.WriteFile(trace, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			rows := Query(t, trace, `select tid from sched join thread using (utid)`)
			if len(rows[0]) != 1 || rows[0][0]["tid"] != int64(next) {
				t.Errorf("got %v, want thread %d alone", rows, next)
			}
		}
	}
	replace(2)
	replace(3)
}

func TestTraceIsLoadedAgainAfterARefusal(t *testing.T) {
	trace := traceOf(t, switchTo(1000, 1, 2))
	for range 2 {
		if rows := Query(t, trace, `select tid from sched join thread using (utid)`); len(rows[0]) != 1 {
			t.Errorf("got %v, want one slice", rows)
		}
		if _, err := theServer.ask(junk(t), nil); err == nil {
			t.Error("the engine took junk")
		}
	}
}

func junk(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(name, []byte(strings.Repeat("no trace at all\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRefusalsAreErrors(t *testing.T) {
	Need(t)
	if err := Load(t, junk(t)); err == nil {
		t.Error("the engine took junk")
	}
	if _, err := theServer.ask(traceOf(t), []string{"select nonsense"}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a wrong query gave %v", err)
	}
}

// Problems that the engine counts in a trace must fail a test.
func TestEngineCountsAreChecked(t *testing.T) {
	stats := `select name, severity, value from stats where value != 0`
	good := Query(t, traceOf(t, switchTo(1000, 1, 2), switchTo(2000, 2, 1)), stats)[0]
	if problems := problemsOf(good); len(problems) > 0 {
		t.Errorf("a sound trace: %v", problems)
	}
	bad := Query(t, traceOf(t, switchTo(1000, 1, 2), switchTo(2000, 3, 1)), stats)[0]
	if problems := strings.Join(problemsOf(bad), "\n"); !strings.Contains(problems, "mismatched_sched_switch_tids") {
		t.Errorf("a switch from a thread that did not run: %q", problems)
	}
	if problems := problemsOf([]Row{{"name": "something_new", "severity": "info", "value": int64(1)}}); len(problems) != 1 {
		t.Errorf("an unknown count: %v", problems)
	}
	if problems := problemsOf([]Row{{"name": "clock_sync_cache_miss", "severity": "data_loss", "value": int64(1)}}); len(problems) != 1 {
		t.Errorf("a loss under a harmless name: %v", problems)
	}
}

func TestUnknownFieldsAreFound(t *testing.T) {
	e := switchTo(1000, 1, 2)
	trace := &schema.Trace{Packet: []*schema.TracePacket{{FtraceEvents: &schema.FtraceEventBundle{Event: []*schema.FtraceEvent{e}}}}}
	if found := unknown(trace.ProtoReflect()); found != "" {
		t.Errorf("found %s", found)
	}
	e.SchedSwitch.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	if found := unknown(trace.ProtoReflect()); !strings.Contains(found, "SchedSwitch") || !strings.Contains(found, "99") {
		t.Errorf("found %q, want field 99 of SchedSwitch", found)
	}
}
