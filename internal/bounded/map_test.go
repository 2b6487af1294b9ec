package bounded

import "testing"

func TestMapKeepsWhatWasUsedLast(t *testing.T) {
	const size, n = 100, 10_000
	m := NewMap[int, int](size)
	for i := range n {
		m.Put(i, -i)
		if v, found := m.Get(0); !found || v != 0 {
			t.Fatalf("after %d entries, one that was used all the time was dropped", i+1)
		}
		if had := len(m.young) + len(m.old); had > 2*size {
			t.Fatalf("%d entries are kept", had)
		}
		for j := max(0, i-size/2); j <= i; j++ {
			v, found := m.young[j]
			if !found {
				v, found = m.old[j]
			}
			if !found || v != -j {
				t.Fatalf("entry %d is %d, %v after %d", j, v, found, i)
			}
		}
	}
	if got := m.Dropped() + int64(len(m.young)+len(m.old)); got != n {
		t.Errorf("%d entries are there or were dropped, want %d", got, n)
	}
	m.Clear()
	if _, found := m.Get(0); found {
		t.Error("a map that was cleared has an entry")
	}
}

func TestAgeDropsWhatIsNotUsed(t *testing.T) {
	m := NewMap[int, int](100)
	m.Put(1, 1)
	m.Put(2, 2)
	for range 3 {
		m.Age()
		if v, found := m.Get(1); !found || v != 1 {
			t.Fatal("an entry that is used was dropped")
		}
	}
	if _, found := m.Get(2); found {
		t.Error("an entry that is not used is kept")
	}
}
