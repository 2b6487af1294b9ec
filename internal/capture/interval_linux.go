package capture

import "time"

const (
	shortestInterval = 20 * time.Millisecond
	longestInterval  = 200 * time.Millisecond
	// wokenInterval is for rings whose reader is woken when they fill. It bounds what a killed recorder loses.
	wokenInterval = 500 * time.Millisecond
	liveInterval  = 25 * time.Millisecond
	// conditionInterval bounds the time from an event to the decision whether it is a reason for a snapshot.
	conditionInterval = 50 * time.Millisecond

	// targetFill is the share of a ring that a round should find used: little enough that a burst of eight times
	// the rate still fits.
	targetFill = 1.0 / 8

	// burstBytes is the rate in bytes a second at which a CPU may begin to write while the reader waits: 1.2 million records of 40 bytes.
	// A ring must not fill within the interval at this rate; one of 8 MiB allows 167 ms. A round costs 0.3 ms with all that
	// the Go runtime does around a thread that sleeps in a system call, so that shorter intervals would take more
	// than 0.2% of a CPU on an idle machine.
	burstBytes = 48 << 20
)

// pace computes the wait between two rounds: long while few events occur, because every round wakes a thread on
// the traced machine, and as short as needed before a ring fills.
type pace struct {
	shortest, longest time.Duration
	interval          time.Duration
}

// newPace returns the pace for rings of a size and a number of CPUs each. With woken, the reader is woken when a ring fills.
func newPace(ringBytes, cpusPerRing int, live, woken bool) pace {
	longest := min(longestInterval, time.Duration(ringBytes)*time.Second/time.Duration(burstBytes*max(cpusPerRing, 1)))
	longest = max(longest.Truncate(time.Millisecond), time.Millisecond)
	if woken {
		longest = wokenInterval
	}
	if live {
		longest = min(longest, liveInterval)
	}
	shortest := min(shortestInterval, longest)
	return pace{shortest: shortest, longest: longest, interval: shortest}
}

// bound sets the longest wait.
func (p *pace) bound(longest time.Duration) {
	p.longest = min(p.longest, longest)
	p.shortest = min(p.shortest, p.longest)
	p.interval = min(p.interval, p.longest)
}

// Next returns the wait after a round; fill is the used share of the fullest ring. It shrinks at once and grows slowly.
func (p *pace) Next(fill float64) time.Duration {
	wanted := p.longest
	if fill > 0 {
		wanted = time.Duration(min(float64(p.interval)*targetFill/fill, float64(p.longest)))
	}
	p.interval = max(p.shortest, min(wanted, p.interval+p.interval/4))
	return p.interval
}
