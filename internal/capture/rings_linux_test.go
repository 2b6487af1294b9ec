package capture

import "testing"

func TestRingsFitTheMachine(t *testing.T) {
	for _, c := range []struct {
		cpus  int
		size  int64
		count int
		want  ringPlan
		notes int
	}{
		{2, 8 << 20, 0, ringPlan{2, 8 << 20}, 0},
		{128, 8 << 20, 0, ringPlan{128, 8 << 20}, 0},
		{192, 8 << 20, 0, ringPlan{128, 8 << 20}, 1},
		{192, 8 << 20, 192, ringPlan{192, 8 << 20}, 0},
		{4, 3 << 20, 0, ringPlan{4, 4 << 20}, 1},
		{4, 8 << 20, 9, ringPlan{4, 8 << 20}, 1},
		{4, 8 << 20, 1, ringPlan{1, 8 << 20}, 0},
		{4, 1 << 30, 0, ringPlan{1, 1 << 30}, 1},
	} {
		got, notes, err := planRings(c.cpus, c.size, c.count)
		if err != nil || got != c.want || len(notes) != c.notes {
			t.Errorf("%d CPUs, size %d, count %d: %+v, notes %q, %v; want %+v", c.cpus, c.size, c.count, got, notes, err, c.want)
		}
	}
	for _, size := range []int64{0, 1, 4096, 2 << 30} {
		if plan, _, err := planRings(2, size, 0); err == nil {
			t.Errorf("size %d gives %+v, want an error", size, plan)
		}
	}
}
