//go:build linux

package bpf

import (
	"fmt"
	"testing"

	"wprof/internal/ringdata"
)

// A switch and a waking take 16 bytes in the ring with their CPU's number, and each switch continues the one before.
func TestSwitchesAndWakingsArePacked(t *testing.T) {
	for _, rings := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d rings", rings), func(t *testing.T) {
			tracer := mustLoad(t, Options{Rings: rings})
			const rounds = 20_000
			p := newPair(t)
			records := recording(t, tracer, func() { p.play(rounds, func(play func()) { play() }) })
			bytes, packed := uint64(0), map[int]int{}
			for _, r := range tracer.Rings() {
				bytes += r.Producer()
			}
			running := map[int]int{}
			for _, r := range records {
				if r.is(ringdata.KindSwitch) {
					if was, known := running[r.cpu()]; known && was != r.tid() && !ofProcess1(was) && !ofProcess1(r.tid()) {
						t.Fatalf("CPU %d switches from thread %d, but the last switch was to %d", r.cpu(), r.tid(), was)
					}
					running[r.cpu()] = r.next()
				}
				if (r.is(ringdata.KindSwitch) || r.is(ringdata.KindWaking)) && r.cpu() == r.ring {
					packed[r.cpu()]++
				}
			}
			n := 0
			for _, of := range packed {
				n += of
			}
			t.Logf("%d records, %d of CPUs that pack, %d bytes", len(records), n, bytes)
			whole := uint64(len(records) - n)
			if bytes > 18*uint64(n)+48*whole {
				t.Errorf("%d records of CPUs that pack and %d others take %d bytes", n, whole, bytes)
			}
			if n < rounds/2 && rings == 0 || n == 0 {
				t.Errorf("%d of %d records are of CPUs that pack: the test does not test", n, len(records))
			}
		})
	}
}
