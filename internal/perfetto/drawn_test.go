package perfetto

import (
	"cmp"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/internal/perfetto/schema"
)

// trackMoment is a TrackEvent with its time in ns of CLOCK_BOOTTIME.
type trackMoment struct {
	at  uint64
	end uint64 // of a beginning: that of its slice
	*schema.TrackEvent
}

// trackMoments are the track events of a trace in the order in which they were written.
func trackMoments(t *testing.T, trace *schema.Trace) []trackMoment {
	t.Helper()
	type clockOf struct{ sequence, clock uint32 }
	type base struct {
		at            uint64
		isIncremental bool
	}
	bases, defaults := map[clockOf]base{}, map[uint32]*schema.TracePacketDefaults{}
	var all []trackMoment
	for i, p := range trace.Packet {
		sequence := p.GetTrustedPacketSequenceId()
		if p.GetSequenceFlags()&stateCleared != 0 {
			delete(defaults, sequence)
		}
		if d := p.GetTracePacketDefaults(); d.GetTimestampClockId() != 0 {
			defaults[sequence] = d
		}
		if s := p.GetClockSnapshot(); len(s.GetClocks()) == 2 && s.Clocks[1].GetClockId() >= firstClock {
			bases[clockOf{sequence, s.Clocks[1].GetClockId()}] = base{s.Clocks[0].GetTimestamp(), s.Clocks[1].GetIsIncremental()}
		}
		if p.TrackEvent == nil {
			continue
		}
		at := p.GetTimestamp()
		clock := defaults[sequence].GetTimestampClockId()
		if p.TimestampClockId != nil {
			clock = *p.TimestampClockId
		}
		if clock != 0 && clock != clockBoottime {
			base, known := bases[clockOf{sequence, clock}]
			if !known {
				t.Fatalf("packet %d has the time of a clock that was not described", i)
			}
			at += base.at
			if base.isIncremental {
				base.at = at
				bases[clockOf{sequence, clock}] = base
			}
		}
		if p.TrackEvent.TrackUuid == nil {
			p.TrackEvent.TrackUuid = proto.Uint64(defaults[sequence].GetTrackEventDefaults().GetTrackUuid())
		}
		all = append(all, trackMoment{at: at, TrackEvent: p.TrackEvent})
	}
	return all
}

// checkDrawn checks what the engine requires of track events: on each track, ordered by time and then in the
// order in which they were written, every end is that of the slice that began last, and an arrow ends only after it
// began.
func checkDrawn(t *testing.T, trace []byte) {
	t.Helper()
	decoded := new(schema.Trace)
	if err := proto.Unmarshal(trace, decoded); err != nil {
		t.Fatal(err)
	}
	moments := trackMoments(t, decoded)
	open := map[uint64]int{}
	for i := range moments {
		m := &moments[i]
		switch m.GetType() {
		case schema.TrackEvent_TYPE_SLICE_BEGIN:
			if _, isOpen := open[m.GetTrackUuid()]; isOpen {
				t.Fatalf("a slice of track %d begins before the one that was begun before has ended", m.GetTrackUuid())
			}
			open[m.GetTrackUuid()] = i
		case schema.TrackEvent_TYPE_SLICE_END:
			i, isOpen := open[m.GetTrackUuid()]
			if !isOpen || m.at < moments[i].at {
				t.Fatalf("a slice of track %d ends at %d without or before its beginning", m.GetTrackUuid(), m.at)
			}
			moments[i].end = m.at
			delete(open, m.GetTrackUuid())
		}
	}
	slices.SortStableFunc(moments, func(a, b trackMoment) int { return cmp.Compare(a.at, b.at) })
	stacks, arrows := map[uint64][]uint64{}, map[uint64]bool{}
	for _, m := range moments {
		track := m.GetTrackUuid()
		switch m.GetType() {
		case schema.TrackEvent_TYPE_SLICE_BEGIN:
			stacks[track] = append(stacks[track], m.end)
		case schema.TrackEvent_TYPE_SLICE_END:
			stack := stacks[track]
			last := len(stack) - 1
			if last < 0 || stack[last] != m.at {
				t.Fatalf("track %d at %d: a slice ends that is not the innermost one", track, m.at)
			}
			stacks[track] = stack[:last]
		}
		for _, id := range m.FlowIdsOld {
			if arrows[id] {
				t.Fatalf("track %d at %d: arrow %d begins a second time", track, m.at, id)
			}
			arrows[id] = true
		}
		for _, id := range m.TerminatingFlowIdsOld {
			if !arrows[id] {
				t.Fatalf("track %d at %d: an arrow ends that has not begun", track, m.at)
			}
			delete(arrows, id)
		}
	}
}
