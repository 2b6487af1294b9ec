package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wprof/format"
)

// maxCPUs bounds what a list of CPUs may name; no kernel is built for more (NR_CPUS is at most 8192).
const maxCPUs = 1 << 16

// CPUs lists the CPUs that the kernel could ever use, with their NUMA nodes; sysfs is /sys but in tests.
func CPUs(sysfs string) ([]*format.Cpu, error) {
	possible, err := readCPUList(filepath.Join(sysfs, "devices/system/cpu/possible"))
	if err != nil {
		return nil, err
	}
	online, err := readCPUList(filepath.Join(sysfs, "devices/system/cpu/online"))
	if err != nil {
		return nil, err
	}
	nodes := nodesByCPU(sysfs)
	cpus := make([]*format.Cpu, len(possible))
	for i, id := range possible {
		cpus[i] = &format.Cpu{Id: id, Node: nodes[id], Offline: !slices.Contains(online, id)}
	}
	return cpus, nil
}

// nodesByCPU is empty on kernels without NUMA: every CPU is then on node 0.
func nodesByCPU(sysfs string) map[uint32]int32 {
	nodes := map[uint32]int32{}
	lists, _ := filepath.Glob(filepath.Join(sysfs, "devices/system/node/node*/cpulist"))
	for _, path := range lists {
		node, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "node"), 10, 32)
		if err != nil {
			continue
		}
		cpus, err := readCPUList(path)
		if err != nil {
			continue
		}
		for _, cpu := range cpus {
			nodes[cpu] = int32(node)
		}
	}
	return nodes
}

func readCPUList(path string) ([]uint32, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the list of CPUs: there is no %s; mount /sys (mount -t sysfs sys /sys)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of CPUs: %w", err)
	}
	cpus, err := parseCPUList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read the list of CPUs in %s: %w", path, err)
	}
	return cpus, nil
}

// parseCPUList reads the kernel's list format, such as 0-3,8; an empty list is legal (a node with memory alone).
func parseCPUList(list string) ([]uint32, error) {
	var cpus []uint32
	if list == "" {
		return cpus, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of CPUs", list)
		}
		last, err := strconv.ParseUint(high, 10, 32)
		if err != nil || last < first || last >= maxCPUs {
			return nil, fmt.Errorf("%q is not a list of CPUs", list)
		}
		if uint64(len(cpus))+last-first >= maxCPUs {
			return nil, fmt.Errorf("a list of CPUs names more than %d", maxCPUs)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, uint32(cpu))
		}
	}
	return cpus, nil
}
