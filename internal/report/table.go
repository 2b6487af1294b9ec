package report

import (
	"cmp"
	"slices"
)

// table adds up times by key. It is bounded: when it is full, the half with the least time is dropped.
type table[K comparable] struct {
	all map[K]*sum
}

// sum is a time with the parts that wakers have in it.
type sum struct {
	Part
	longest int64
	by      parts
}

const (
	maxTable = 1 << 14
	maxParts = 8
)

func (t *table[K]) at(key K) *sum {
	s := t.all[key]
	if s == nil {
		if len(t.all) >= maxTable {
			t.shrink()
		}
		if t.all == nil {
			t.all = make(map[K]*sum)
		}
		s = new(sum)
		t.all[key] = s
	}
	return s
}

// shrink drops the half of the entries with the least time.
func (t *table[K]) shrink() {
	var times []int64
	for _, s := range t.all {
		times = append(times, s.Ns)
	}
	slices.Sort(times)
	median := times[len(times)/2]
	for key, s := range t.all {
		if s.Ns <= median {
			delete(t.all, key)
		}
	}
}

func (s *sum) add(ns int64, count uint64, longest int64) {
	s.Part.add(ns, count)
	s.longest = max(s.longest, longest)
}

func (s *sum) merge(of *sum) {
	s.add(of.Ns, of.Count, of.longest)
	for _, p := range of.by {
		s.by.add(p.Name, p.Ns, p.Count)
	}
}

// sorted returns the keys, the longest times first. compare orders keys with the same time.
func (t *table[K]) sorted(compare func(a, b K) int) []K {
	keys := make([]K, 0, len(t.all))
	for key := range t.all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(t.all[b].Ns, t.all[a].Ns), compare(a, b)) })
	return keys
}

// parts are the largest parts of a time, by name.
type parts []Part

// add adds a time to a part. A new one takes the place of the smallest when there are too many.
func (p *parts) add(name string, ns int64, count uint64) {
	if name == "" {
		return
	}
	least := 0
	for i := range *p {
		one := &(*p)[i]
		if one.Name == name {
			one.add(ns, count)
			return
		}
		if one.Ns < (*p)[least].Ns {
			least = i
		}
	}
	if len(*p) < maxParts {
		*p = append(*p, Part{name, ns, count})
		return
	}
	if ns > (*p)[least].Ns {
		(*p)[least] = Part{name, ns, count}
	}
}

// sorted returns the parts, the longest times first; never null.
func (p parts) sorted(limit int) []Part {
	all := append([]Part{}, p...)
	slices.SortFunc(all, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name)) })
	return all[:min(limit, len(all))]
}

// without returns the parts but one.
func (p parts) without(name string) parts {
	return slices.DeleteFunc(slices.Clone(p), func(one Part) bool { return one.Name == name })
}

// top returns the largest part.
func (p parts) top() Part {
	if len(p) == 0 {
		return Part{}
	}
	return p.sorted(1)[0]
}
