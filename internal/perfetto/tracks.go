package perfetto

import "strconv"

// Fields of TrackDescriptor.
const (
	trackName        = 2
	trackProcess     = 3
	trackThread      = 4
	trackParent      = 5
	trackCounter     = 8
	trackOrder       = 11
	trackRank        = 12
	trackDescription = 14

	orderByName = 1
	orderByRank = 3

	counterUnitName = 6
)

// newUUID returns the id of a new track.
func (w *view) newUUID() uint64 {
	w.uuids++
	return w.uuids
}

func (w *view) describeTrack(uuid uint64, fields func(out []byte) []byte) {
	w.out = w.seq.track(w.out, uuid, w.clock.boottime(w.now), fields)
}

// track returns a thread's own track, and describes it to Perfetto if it is new.
func (w *view) track(t *thread) uint64 {
	d := &t.drawn
	if d.generation == w.seq.generation {
		return d.track
	}
	if d.track == 0 || d.pid != t.pid {
		d.track, d.pid = w.newUUID(), t.pid
	}
	d.generation = w.seq.generation
	w.describeTrack(d.track, func(out []byte) []byte {
		if t.pid == 0 {
			// The engine would make it a thread of the idle process.
			return appendString(out, trackName, string(t.drawn.name)+" "+strconv.Itoa(int(t.tid)))
		}
		out, thread := begin(out, trackThread)
		out = appendInt(out, 1, int64(t.pid))
		out = appendInt(out, 2, int64(t.tid))
		end(out, thread)
		return out
	})
	return d.track
}

// stackTrack returns the track of a thread's sampled stacks. It is below the thread's own, whose instants would break the nesting.
func (w *view) stackTrack(t *thread) uint64 {
	d := &t.drawn
	if d.stackGeneration == w.seq.generation {
		return d.stackTrack
	}
	parent := w.track(t)
	if d.stackTrack == 0 {
		d.stackTrack = w.newUUID()
	}
	d.stackGeneration = w.seq.generation
	w.describeTrack(d.stackTrack, func(out []byte) []byte {
		return appendUint(appendString(out, trackName, "stacks"), trackParent, parent)
	})
	return d.stackTrack
}
