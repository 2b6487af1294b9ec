package format

import "testing"

func TestLossCounts(t *testing.T) {
	var c LossCounts
	add := func(cpu uint32, kind Kind, of string, n uint64) {
		c.Add(&Loss{Cpu: cpu, Kind: uint32(kind), Cause: uint32(CauseRing), Count: n, Type: []byte(of)})
	}
	add(1, KindTyped, "block", 3)
	add(0, KindTyped, "block", 4)
	add(1, KindTyped, "fault", 5)
	add(1, KindTyped, "block", 6)
	c.AddAll([]*Loss{{Cpu: 1, Kind: uint32(KindSwitch), Cause: uint32(CauseTail), Count: 7}})
	var got [][2]uint64
	for _, l := range c.List() {
		got = append(got, [2]uint64{uint64(l.Cpu), l.Count})
	}
	if want := [][2]uint64{{0, 4}, {1, 7}, {1, 9}, {1, 5}}; len(got) != len(want) || [4][2]uint64(got) != [4][2]uint64(want) {
		t.Errorf("CPUs and counts are %v, want %v", got, want)
	}
}

// Very many different losses are counted with less detail, and none is left out.
func TestLossCountsAreBounded(t *testing.T) {
	var c LossCounts
	sum := func() (n uint64) {
		for _, l := range c.List() {
			n += l.Count
		}
		return n
	}
	for cpu := range uint32(3 * MaxLossCounts) {
		c.Add(&Loss{Cpu: cpu, Kind: uint32(KindSwitch), Cause: uint32(CauseRing), Count: 1})
	}
	if n := len(c); n != MaxLossCounts+1 || sum() != 3*MaxLossCounts {
		t.Errorf("%d losses of %d events", n, sum())
	}
	for kind := range uint32(3 * MaxLossCounts) {
		c.Add(&Loss{Cpu: kind, Kind: kind, Cause: kind, Count: 1})
	}
	if n := len(c); n > 2*MaxLossCounts+256 || sum() != 6*MaxLossCounts {
		t.Errorf("%d losses of %d events", n, sum())
	}
}
