package timeline

import (
	"testing"

	"wprof/format"
)

// A thread that is being created has not run if everything is recorded; it may have if CPUs or switches are left out.
func TestThreadIsNewOnlyWhereAllIsRecorded(t *testing.T) {
	defs := definitions{1: {Id: 1, Tid: 10, Pid: 10}, 2: {Id: 2, Tid: 11, Pid: 10, Start: 100}}
	for what, c := range map[string]struct {
		config []*format.KeyValue
		want   SpanKind
	}{
		"all":      {nil, SpanNew},
		"one CPU":  {[]*format.KeyValue{{Key: ConfigCPUs, Value: "0"}}, SpanUnknown},
		"no kinds": {[]*format.KeyValue{{Key: ConfigNoKinds, Value: "switch"}}, SpanUnknown},
	} {
		var got []SpanKind
		s := NewSpans(defs, func(s *Span) {
			if s.Thread.TID == 11 {
				got = append(got, s.Kind)
			}
		})
		s.NewSection(&format.Session{Config: c.config})
		s.Open(0)
		fork := format.Event{Time: 100, Kind: format.KindFork, Flags: format.FlagsVisible, Task: 1}
		fork.Fork().SetChild(2)
		s.Apply(&fork)
		s.Close(1000)
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v, want one of kind %v", what, got, c.want)
		}
	}
}

// What a running thread has done so far can be emitted before it leaves its CPU: the rest follows.
func TestRunningThreadIsEmittedUpToNow(t *testing.T) {
	var got [][2]int64
	s := NewSpans(definitions{1: {Id: 1, Tid: 10, Pid: 10}}, func(s *Span) {
		if s.Kind == SpanRunning {
			got = append(got, [2]int64{s.From, s.To})
		}
	})
	s.NewSection(&format.Session{})
	s.Open(0)
	runs := format.Event{Time: 0, Kind: format.KindStateCPU, Flags: format.FlagsVisible, Task: 1}
	s.Apply(&runs)
	sample := format.Event{Time: 400, Kind: format.KindSample, Flags: format.FlagSubject, Task: 1}
	s.Apply(&sample)
	s.EmitThread(s.Timeline().Thread(1), 400)
	s.Close(1000)
	if len(got) != 2 || got[0] != [2]int64{0, 400} || got[1] != [2]int64{400, 1000} {
		t.Errorf("emitted %v, want up to 400 and from there", got)
	}
}
