package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/tracks"
)

// Note implements [tracks.Encoder]: losses, late events and times between windows are slices on tracks of their own, one for
// each CPU and one for all, below one parent.
func (e *encoder) Note(n *tracks.Note) {
	e.now = max(e.now, n.To)
	e.endOpening()
	if n.Kind == tracks.NotRecorded && e.options.Sched {
		e.hideAll(n.From)
	}
	e.view.resetIfDue()
	e.view.note(n)
}

func (w *view) note(n *tracks.Note) {
	key := itemKey{on: onRecording, name: "All CPUs"}
	if n.CPU != format.AllCPUs {
		cpu := int64(min(n.CPU, maxCPUs))
		key.name, key.number = "CPU "+strconv.FormatInt(cpu, 10)+": lost and late", cpu+1
	}
	t := w.items.track(key)
	lane, from := t.lanes.PlaceApart(max(n.From, w.opened), n.To)
	track, name := w.laneTrack(key, &t.of[lane]), w.name(n.Name)
	w.seq.start(sliceBegin, track, name)
	w.seq.category(catRecording)
	if n.Count > 0 {
		w.argument(&tracks.Arg{Name: "count", Number: n.Count})
	}
	if n.Cause != "" {
		w.argument(&tracks.Arg{Name: "cause", Type: tracks.ArgText, Text: n.Cause})
	}
	if n.What != "" {
		w.argument(&tracks.Arg{Name: "kind", Type: tracks.ArgText, Text: n.What})
	}
	w.out = w.seq.put(w.out, w.clock.earlier(from))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(n.To))
}

// recordingGroup is the track above those of notes.
func (w *view) recordingGroup() uint64 {
	return w.groupTrack(groupKey{}, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, "Recording"), trackOrder, orderByRank)
		return appendString(out, trackDescription, "What the recorder could not record: events that were lost, and those that came too late for their place.")
	})
}
