package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wprof/format"
)

const (
	// maxIndexes bounds the caches of one CPU; machines have 4 or 5.
	maxIndexes = 16
	// maxCacheTypes bounds the caches of different level, type and size.
	maxCacheTypes = 64
	// maxSysfsBytes bounds what is read of one file. A list of 8192 CPUs of which every other one is missing has 20 kB.
	maxSysfsBytes = 64 << 10
)

// ReadTopology sets the cores and packages of CPUs and returns their caches; sysfs is /sys but in tests. What a kernel or a container does
// not show stays unset: Documentation/ABI/stable/sysfs-devices-system-cpu.
//
// CPUs that share a core or a cache are found with one of them, so that a large machine needs few files.
func ReadTopology(sysfs string, cpus []*format.Cpu) []*format.Cache {
	t := topology{folder: filepath.Join(sysfs, "devices/system/cpu"), cpus: cpus, at: make(map[uint32]int, len(cpus))}
	for i, cpu := range cpus {
		t.at[cpu.Id] = i
	}
	cores := uint32(0)
	for i, cpu := range cpus {
		if !cpu.Offline && cpu.Core == nil && t.readCore(i, cores) {
			cores++
		}
		if !cpu.Offline && cpu.Package == nil {
			t.readPackage(i)
		}
	}
	for index := 0; index < maxIndexes && t.readCaches(index); index++ {
	}
	return t.caches
}

type topology struct {
	folder string
	cpus   []*format.Cpu
	at     map[uint32]int // index in cpus by id
	caches []*format.Cache
}

// readCore gives a number to the core of a CPU, and reports whether the core is known.
func (t *topology) readCore(i int, number uint32) bool {
	siblings := t.siblings(i, "topology/core_cpus_list")
	if siblings == nil {
		siblings = t.siblings(i, "topology/thread_siblings_list")
	}
	for _, j := range siblings {
		if t.cpus[j].Core == nil {
			t.cpus[j].Core = &number
		}
	}
	return siblings != nil
}

func (t *topology) readPackage(i int) {
	id, err := strconv.ParseUint(t.text(i, "topology/physical_package_id"), 10, 32)
	if err != nil {
		return // -1: the machine does not number its packages
	}
	number := uint32(id)
	siblings := t.siblings(i, "topology/package_cpus_list")
	if siblings == nil {
		siblings = []int{i}
	}
	for _, j := range siblings {
		if t.cpus[j].Package == nil {
			t.cpus[j].Package = &number
		}
	}
}

// readCaches reads the caches with one index, which need not be of one level: CPUs of one machine may differ. It reports whether there are
// any.
func (t *topology) readCaches(index int) (found bool) {
	done := make([]bool, len(t.cpus))
	counts := map[*format.Cache]uint32{}
	for _, c := range t.caches {
		counts[c] = slices.Max(c.Used)
	}
	for i, cpu := range t.cpus {
		if cpu.Offline || done[i] {
			continue
		}
		folder := fmt.Sprintf("cache/index%d", index)
		level, err := strconv.ParseUint(t.text(i, folder+"/level"), 10, 8)
		if err != nil {
			continue
		}
		cache := t.cache(uint32(level), cacheType(t.text(i, folder+"/type")), cacheSize(t.text(i, folder+"/size")))
		if found = true; cache == nil {
			continue
		}
		counts[cache]++
		siblings := t.siblings(i, folder+"/shared_cpu_list")
		if siblings == nil {
			siblings = []int{i}
		}
		for _, j := range siblings {
			if !done[j] {
				done[j], cache.Used[j] = true, counts[cache]
			}
		}
	}
	return found
}

// cache returns the caches of a level, type and size; nil: there are too many different ones.
func (t *topology) cache(level uint32, of format.CacheType, size uint64) *format.Cache {
	for _, c := range t.caches {
		if c.Level == level && c.Type == uint32(of) && c.Size == size {
			return c
		}
	}
	if len(t.caches) == maxCacheTypes {
		return nil
	}
	c := &format.Cache{Level: level, Type: uint32(of), Size: size, Used: make([]uint32, len(t.cpus))}
	t.caches = append(t.caches, c)
	return c
}

// siblings returns the CPUs in a list of a CPU, as indexes, the CPU itself among them; nil: the list is not there, or is of others.
func (t *topology) siblings(i int, name string) (all []int) {
	ids, err := parseCPUList(t.text(i, name))
	if err != nil || !slices.Contains(ids, t.cpus[i].Id) {
		return nil
	}
	for _, id := range ids {
		if j, found := t.at[id]; found && !t.cpus[j].Offline {
			all = append(all, j)
		}
	}
	return all
}

// text returns what a file of a CPU contains; "": it cannot be read.
func (t *topology) text(i int, name string) string {
	text, err := readBounded(filepath.Join(t.folder, fmt.Sprintf("cpu%d", t.cpus[i].Id), name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

func readBounded(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSysfsBytes+1))
	if err == nil && len(text) > maxSysfsBytes {
		err = errors.New("it is longer than any such file")
	}
	return string(text), err
}

func cacheType(text string) format.CacheType {
	switch text {
	case "Data":
		return format.CacheType_CACHE_DATA
	case "Instruction":
		return format.CacheType_CACHE_INSTRUCTION
	case "Unified":
		return format.CacheType_CACHE_UNIFIED
	}
	return format.CacheType_CACHE_UNKNOWN
}

// cacheSize reads sizes such as 32K; 0: not known.
func cacheSize(text string) uint64 {
	number, _ := strings.CutSuffix(text, "K")
	size, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0
	}
	if number != text {
		size <<= 10
	}
	return size
}
