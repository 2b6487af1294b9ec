package info

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/container"
)

// containerTime is the CPU time of the processes that were in a container last.
type containerTime struct {
	place container.Place
	ns    int64
}

// containers returns the containers by CPU time, largest first. Nested ones count for the innermost.
func (r *Recording) containers() []containerTime {
	type key struct{ runtime, id string }
	times := make(map[key]*containerTime)
	for _, p := range r.Processes {
		_, place := r.labels.cgroupOf(p)
		if place.ID == "" {
			continue
		}
		of := key{place.Runtime, place.ID}
		if times[of] == nil {
			times[of] = &containerTime{place: place}
		}
		times[of].ns = format.Sum(times[of].ns, p.Ns)
	}
	var all []containerTime
	for _, one := range times {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b containerTime) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.place.ID, b.place.ID), cmp.Compare(a.place.Runtime, b.place.Runtime))
	})
	return all
}
