package spool

import (
	"testing"
	"wprof/format"
	"wprof/internal/ringdata"
)

// TestTasksOfOlderSpools: recorders before format 1.8 wrote tasks without a cgroup.
func TestTasksOfOlderSpools(t *testing.T) {
	for size, flag := range map[int]byte{ringdata.TaskSize: generationCgroups, ringdata.TaskSize - 8: 0} {
		b, err := (&generation{Header: Header{Session: &format.Session{Id: 1}, Rings: 1, TaskSize: ringdata.TaskSize}}).append(nil)
		if err != nil {
			t.Fatal(err)
		}
		b[12] = flag
		if g, err := parseGeneration(b); err != nil || g.TaskSize != size {
			t.Errorf("flags %d: tasks of %+v bytes, want %d (%v)", flag, g, size, err)
		}
	}
}

// FuzzChunks reads payloads of chunks that are read as a whole, and headers, without checksums in the way.
func FuzzChunks(f *testing.F) {
	beginning, err := (&generation{Header: Header{Session: &format.Session{Id: 1}, Rings: 2}, newRings: true}).append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(beginning)
	tail, err := appendTail(nil, 5, &Tail{Close: 9, Losses: []Loss{{CPU: 1, Kind: format.KindSwitch, Cause: format.CauseRing, Count: 3}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tail)
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := parseGeneration(b); err == nil && (g.Rings > maxRings || g.Session == nil) {
			t.Errorf("got %+v", g)
		}
		if _, tail, err := ParseTail(b); err == nil && len(tail.Losses)*lossBytes > len(b) {
			t.Errorf("got %d losses of %d bytes", len(tail.Losses), len(b))
		}
		_, _ = parseChunkHeader(b)
	})
}
