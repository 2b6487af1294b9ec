package byid

import (
	"math/rand/v2"
	"testing"
)

func TestTableFindsWhatWasPut(t *testing.T) {
	var table Table[uint64]
	for range 3 {
		for id := uint32(1); id <= most; id++ {
			table.Put(id, uint64(id)+7)
		}
		for id := uint32(1); id <= most; id++ {
			if got := table.Get(id); got != uint64(id)+7 {
				t.Fatalf("id %d has %d", id, got)
			}
		}
		table.Clear()
		if table.Get(1) != 0 {
			t.Fatal("a value is left")
		}
	}
}

func TestTableHasNoOtherValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table Table[uint64]
	for range 300_000 {
		id := r.Uint32() >> r.IntN(20)
		if got := table.Get(id); got != 0 && got != uint64(id)+7 {
			t.Fatalf("id %d has %d", id, got)
		}
		if id != 0 {
			table.Put(id, uint64(id)+7)
		}
	}
	if len(table.slots) > most {
		t.Errorf("there is room for %d", len(table.slots))
	}
}
