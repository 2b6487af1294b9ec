package capture

import (
	"fmt"
	"math/bits"
)

const (
	// allRingsLimit bounds the memory of all rings if the user did not set their number: on machines with more
	// CPUs than fit, several share one.
	allRingsLimit = 1 << 30
	// smallestRing is two pages of 4 KiB; below that a ring cannot hold an exec with a long path.
	smallestRing = 8 << 10
	// largestRing is the maximum of package bpf.
	largestRing = 1 << 30
)

// ringPlan is the number and the size of the rings.
type ringPlan struct {
	Rings, RingBytes int
}

// planRings chooses the rings for a number of CPUs. size is in bytes; a count of 0 means the default.
func planRings(cpus int, size int64, count int) (plan ringPlan, notes []string, err error) {
	if size < smallestRing || size > largestRing {
		return plan, nil, fmt.Errorf("--ringbuf-size must be from 8kb to 1gb")
	}
	plan.RingBytes = 1 << bits.Len64(uint64(size-1))
	if int64(plan.RingBytes) != size {
		notes = append(notes, fmt.Sprintf("--ringbuf-size rounded up to %s, because rings are powers of two", sizeFlag(plan.RingBytes)))
	}
	switch {
	case count < 0:
		return plan, nil, fmt.Errorf("--ringbuf-cnt must be at least 1")
	case count > cpus:
		notes = append(notes, fmt.Sprintf("--ringbuf-cnt reduced to %d, one for each CPU", cpus))
		plan.Rings = cpus
	case count > 0:
		plan.Rings = count
	default:
		plan.Rings = min(cpus, max(allRingsLimit/plan.RingBytes, 1))
		if plan.Rings < cpus {
			notes = append(notes, fmt.Sprintf("%d CPUs share %d rings, so that they take no more than %s in all; --ringbuf-cnt sets another number",
				cpus, plan.Rings, sizeFlag(allRingsLimit)))
		}
	}
	return plan, notes, nil
}

// cpusPerRing returns the number of CPUs that write to the ring with most CPUs.
func (p ringPlan) cpusPerRing(cpus int) int { return (cpus + p.Rings - 1) / p.Rings }
