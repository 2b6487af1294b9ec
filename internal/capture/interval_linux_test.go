package capture

import (
	"testing"
	"time"
)

// settle runs rounds at a rate of bytes a second and ring until the interval is constant.
func settle(p *pace, ringBytes int, rate float64) (interval time.Duration, fill float64) {
	for range 100 {
		fill = rate * p.interval.Seconds() / float64(ringBytes)
		interval = p.Next(fill)
	}
	return interval, fill
}

func TestQuietMachineIsReadSeldom(t *testing.T) {
	p := newPace(8<<20, 1, false, false)
	if interval, _ := settle(&p, 8<<20, 0); interval < 150*time.Millisecond || interval > 200*time.Millisecond {
		t.Errorf("interval is %v, want 150 to 200ms", interval)
	}
}

func TestAMillionEventsASecondLeaveRoomInTheRing(t *testing.T) {
	p := newPace(8<<20, 1, false, false)
	// Two CPUs share a million records of 40 bytes.
	interval, fill := settle(&p, 8<<20, 20e6)
	if fill > 0.25 || interval < 20*time.Millisecond || interval > 200*time.Millisecond {
		t.Errorf("interval %v finds %.0f%% of the ring used, want at most 25%%", interval, fill*100)
	}
}

func TestBurstAfterQuietFitsTheRing(t *testing.T) {
	for _, ring := range []int{64 << 10, 1 << 20, 8 << 20} {
		p := newPace(ring, 1, false, false)
		interval, _ := settle(&p, ring, 0)
		if fill := interval.Seconds() * burstBytes / float64(ring); fill > 1.01 && interval > time.Millisecond {
			t.Errorf("a burst fills a ring of %d bytes %.1f times in %v", ring, fill, interval)
		}
	}
}

func TestIntervalShrinksAtOnceAndGrowsSlowly(t *testing.T) {
	p := newPace(8<<20, 1, false, false)
	settle(&p, 8<<20, 0)
	if got := p.Next(0.6); got > 40*time.Millisecond {
		t.Errorf("after a round that found 60%% of the ring used, the interval is %v", got)
	}
	if got := p.Next(0); got > 50*time.Millisecond {
		t.Errorf("one quiet round after, the interval is %v already", got)
	}
}

func TestLiveIsReadEvery25ms(t *testing.T) {
	p := newPace(8<<20, 1, true, false)
	if interval, _ := settle(&p, 8<<20, 0); interval != 25*time.Millisecond {
		t.Errorf("interval is %v, want 25ms", interval)
	}
}

func TestReaderThatIsWokenPollsSeldom(t *testing.T) {
	p := newPace(8<<20, 1, false, true)
	if interval, _ := settle(&p, 8<<20, 0); interval != wokenInterval {
		t.Errorf("interval is %v, want %v", interval, wokenInterval)
	}
	p = newPace(8<<20, 1, true, true)
	if interval, _ := settle(&p, 8<<20, 0); interval != liveInterval {
		t.Errorf("live: interval is %v, want %v", interval, liveInterval)
	}
}
