package pmu

import (
	"slices"
	"strings"
)

// generic is an event that all machines name alike. The first name is the one in lists.
type generic struct {
	names  []string
	kind   uint32
	config uint64
}

const (
	softwareCPUClock  = 0
	softwareTaskClock = 1
)

// generics are the hardware and software events: enum perf_hw_id and perf_sw_ids of include/uapi/linux/perf_event.h, by perf's names.
func generics() []generic {
	return []generic{
		{[]string{"cpu-cycles", "cycles"}, TypeHardware, 0},
		{[]string{"instructions"}, TypeHardware, 1},
		{[]string{"cache-references"}, TypeHardware, 2},
		{[]string{"cache-misses"}, TypeHardware, 3},
		{[]string{"branch-instructions", "branches"}, TypeHardware, 4},
		{[]string{"branch-misses"}, TypeHardware, 5},
		{[]string{"bus-cycles"}, TypeHardware, 6},
		{[]string{"stalled-cycles-frontend", "idle-cycles-frontend"}, TypeHardware, 7},
		{[]string{"stalled-cycles-backend", "idle-cycles-backend"}, TypeHardware, 8},
		{[]string{"ref-cycles"}, TypeHardware, 9},
		{[]string{"cpu-clock"}, TypeSoftware, softwareCPUClock},
		{[]string{"task-clock"}, TypeSoftware, softwareTaskClock},
		{[]string{"page-faults", "faults"}, TypeSoftware, 2},
		{[]string{"context-switches", "cs"}, TypeSoftware, 3},
		{[]string{"cpu-migrations", "migrations"}, TypeSoftware, 4},
		{[]string{"minor-faults"}, TypeSoftware, 5},
		{[]string{"major-faults"}, TypeSoftware, 6},
		{[]string{"alignment-faults"}, TypeSoftware, 7},
		{[]string{"emulation-faults"}, TypeSoftware, 8},
		{[]string{"dummy"}, TypeSoftware, 9},
		{[]string{"bpf-output"}, TypeSoftware, 10},
		{[]string{"cgroup-switches"}, TypeSoftware, 11},
	}
}

func genericOf(name string) (generic, bool) {
	for _, g := range generics() {
		if slices.Contains(g.names, name) {
			return g, true
		}
	}
	return generic{}, false
}

// cacheWord is a word of a cache event, by its aliases; the number is its place in config.
type cacheWord struct {
	names  []string
	number uint64
}

const (
	cacheRead     = 0
	cacheWrite    = 1
	cachePrefetch = 2
)

// caches are the caches, with the operations that are counted of them.
func caches() []struct {
	cacheWord
	operations []uint64
} {
	all, noWrite, read := []uint64{cacheRead, cacheWrite, cachePrefetch}, []uint64{cacheRead, cachePrefetch}, []uint64{cacheRead}
	return []struct {
		cacheWord
		operations []uint64
	}{
		{cacheWord{[]string{"L1-dcache", "l1-d", "l1d", "L1-data"}, 0}, all},
		{cacheWord{[]string{"L1-icache", "l1-i", "l1i", "L1-instruction"}, 1}, noWrite},
		{cacheWord{[]string{"LLC", "L2"}, 2}, all},
		{cacheWord{[]string{"dTLB", "d-tlb", "Data-TLB"}, 3}, all},
		{cacheWord{[]string{"iTLB", "i-tlb", "Instruction-TLB"}, 4}, read},
		{cacheWord{[]string{"branch", "bpu", "btb", "bpc"}, 5}, read},
		{cacheWord{[]string{"node"}, 6}, all},
	}
}

func cacheOperations() []cacheWord {
	return []cacheWord{
		{[]string{"loads", "load", "read"}, cacheRead},
		{[]string{"stores", "store", "write"}, cacheWrite},
		{[]string{"prefetches", "prefetch", "speculative-read", "speculative-load"}, cachePrefetch},
	}
}

func cacheResults() []cacheWord {
	return []cacheWord{
		{[]string{"refs", "Reference", "ops", "access"}, 0},
		{[]string{"misses", "miss"}, 1},
	}
}

// cacheConfig returns the config of a cache event: a cache, and an operation and a result in any order, each of which may be missing.
func cacheConfig(name string) (config uint64, ok bool) {
	for _, c := range caches() {
		for _, alias := range c.names {
			rest, has := strings.CutPrefix(name, alias)
			if !has || rest != "" && rest[0] != '-' {
				continue
			}
			operation, result, known := cacheSuffix(rest)
			if known && slices.Contains(c.operations, operation) {
				return c.number | operation<<8 | result<<16, true
			}
		}
	}
	return 0, false
}

// cacheSuffix reads what follows the cache: -load-misses.
func cacheSuffix(rest string) (operation, result uint64, ok bool) {
	var has [2]bool
	values := [2]uint64{}
	for range values {
		for i, words := range [][]cacheWord{cacheOperations(), cacheResults()} {
			if rest == "" || has[i] {
				continue
			}
			if number, left, found := cutWord(rest, words); found {
				values[i], has[i], rest = number, true, left
			}
		}
	}
	return values[0], values[1], rest == ""
}

// cutWord cuts the longest alias that rest begins with, after its hyphen.
func cutWord(rest string, words []cacheWord) (number uint64, left string, ok bool) {
	longest := 0
	for _, w := range words {
		for _, alias := range w.names {
			after, has := strings.CutPrefix(rest, "-"+alias)
			if has && (after == "" || after[0] == '-') && len(alias) > longest {
				number, left, ok, longest = w.number, after, true, len(alias)
			}
		}
	}
	return number, left, ok
}

// Names returns the names of events that every machine knows, for suggestions and completion: those of caches by perf's list.
func Names() []string {
	var all []string
	for _, g := range generics() {
		all = append(all, g.names...)
	}
	for _, c := range caches() {
		for _, operation := range cacheOperations() {
			if slices.Contains(c.operations, operation.number) {
				all = append(all, c.names[0]+"-"+operation.names[0], c.names[0]+"-"+operation.names[1]+"-misses")
			}
		}
	}
	return all
}
