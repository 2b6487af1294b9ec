package byid

import (
	"math/rand/v2"
	"testing"
)

func TestTableFindsWhatWasPut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table Table[*int]
	for range 20 {
		want := map[uint32]*int{}
		for range 3000 {
			id := uint32(r.IntN(5000))
			if r.IntN(3) == 0 {
				id = r.Uint32N(1 << 20)
			}
			if r.IntN(50) == 0 {
				id = r.Uint32()
			}
			if want[id] == nil {
				want[id] = new(int)
				table.Put(id, want[id])
			}
		}
		for id, v := range want {
			if table.Get(id) != v {
				t.Fatalf("id %d is lost", id)
			}
		}
		for range 1000 {
			if id := r.Uint32N(1 << 21); table.Get(id) != want[id] {
				t.Fatalf("id %d has a value", id)
			}
		}
		table.Clear()
	}
}

func TestLargeIDsCostNothing(t *testing.T) {
	var table Table[int]
	for id := range uint32(100) {
		table.Put(^id, 1)
	}
	if len(table.dense) > 1<<17 {
		t.Errorf("%d ids of room for 100", len(table.dense))
	}
}
