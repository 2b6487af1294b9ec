package format

import "time"

// WallTime converts a time, CLOCK_MONOTONIC ns, to UTC by the nearest clock snapshot; zero: none has the time of day.
func WallTime(clocks []*ClockSnapshot, at int64) time.Time {
	var nearest *ClockSnapshot
	for _, c := range clocks {
		if c.GetRealtime() != 0 && (nearest == nil || distance(c.Monotonic, at) < distance(nearest.Monotonic, at)) {
			nearest = c
		}
	}
	if nearest == nil {
		return time.Time{}
	}
	return time.Unix(0, nearest.Realtime+at-nearest.Monotonic).UTC()
}

func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }
