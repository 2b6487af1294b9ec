// Package topology summarizes what a session says of its machine's CPUs: NUMA nodes, packages, cores and caches.
package topology

import (
	"cmp"
	"slices"

	"wprof/format"
)

// Summary counts what the CPUs of a session are made of.
type Summary struct {
	CPUs     int // including offline ones
	Offline  int
	Nodes    int
	Packages int // 0: not known
	Cores    int // of the CPUs that were online; 0: not known
	Caches   []Cache
}

// Cache summarizes the caches of one level, type and size.
type Cache struct {
	Level uint32
	Type  format.CacheType
	Bytes uint64 // of one; 0: not known
	Count int
	CPUs  int // the most that share one
	Cores int // the same; 0: cores are not known
}

// Of returns the summary of a session.
func Of(s *format.Session) Summary {
	t := Summary{CPUs: len(s.Cpus)}
	nodes, packages, cores := map[int32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for _, cpu := range s.Cpus {
		nodes[cpu.Node] = true
		if cpu.Offline {
			t.Offline++
		}
		if cpu.Package != nil {
			packages[*cpu.Package] = true
		}
		if cpu.Core != nil {
			cores[*cpu.Core] = true
		}
	}
	t.Nodes, t.Packages, t.Cores = len(nodes), len(packages), len(cores)
	for _, c := range s.Caches {
		t.Caches = append(t.Caches, cacheOf(s.Cpus, c))
	}
	slices.SortStableFunc(t.Caches, func(a, b Cache) int { return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type)) })
	return t
}

func cacheOf(cpus []*format.Cpu, c *format.Cache) Cache {
	users, cores := map[uint32]int{}, map[uint32]map[uint32]bool{}
	for i, used := range c.Used[:min(len(c.Used), len(cpus))] {
		if used == 0 {
			continue
		}
		users[used]++
		if core := cpus[i].Core; core != nil {
			if cores[used] == nil {
				cores[used] = map[uint32]bool{}
			}
			cores[used][*core] = true
		}
	}
	one := Cache{Level: c.Level, Type: format.CacheType(c.Type), Bytes: c.Size, Count: len(users)}
	for used, n := range users {
		one.CPUs, one.Cores = max(one.CPUs, n), max(one.Cores, len(cores[used]))
	}
	return one
}

// ByCore returns the CPUs in the order of nodes, packages and cores, so that the CPUs of one core follow each other. Those of unknown
// cores come last on their node.
func ByCore(s *format.Session) []*format.Cpu {
	all := slices.Clone(s.Cpus)
	slices.SortStableFunc(all, func(a, b *format.Cpu) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), compareKnown(a.Package, b.Package), compareKnown(a.Core, b.Core), cmp.Compare(a.Id, b.Id))
	})
	return all
}

func compareKnown(a, b *uint32) int {
	switch {
	case a == nil || b == nil:
		return isUnknown(a) - isUnknown(b)
	default:
		return cmp.Compare(*a, *b)
	}
}

func isUnknown(a *uint32) int {
	if a == nil {
		return 1
	}
	return 0
}
