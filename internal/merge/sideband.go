package merge

import "wprof/internal/sideband"

// SidebandRecord reads the side-band record that some bytes begin with, and returns its time and length; 0: they do not hold a
// whole one.
func SidebandRecord(b []byte, r *sideband.Record) (time int64, length int) {
	length, err := sideband.Next(b, r)
	if err != nil {
		return 0, 0
	}
	return r.Time, length
}

// sideHole is a time in which side-band records are missing.
type sideHole struct{ from, to int64 }
