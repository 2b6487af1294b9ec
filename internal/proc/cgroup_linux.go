package proc

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
)

const ownCgroups = "/proc/self/cgroup"

// HasCgroups reports whether this kernel has cgroups.
func HasCgroups() bool {
	_, err := os.Stat(ownCgroups)
	return err == nil
}

// V1Hierarchies returns the ids of two hierarchies of cgroups: of the one named systemd, and that of the cpu controller; 0: there is none
// of v1.
func V1Hierarchies() [2]uint32 {
	f, err := os.Open(ownCgroups)
	if err != nil {
		return [2]uint32{}
	}
	defer f.Close()
	return v1Hierarchies(bufio.NewScanner(f))
}

// v1Hierarchies reads lines as cgroups(7) describes them: ID:CONTROLLERS:PATH. The unified hierarchy has id 0.
func v1Hierarchies(lines *bufio.Scanner) (ids [2]uint32) {
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), ":", 3)
		id, err := strconv.ParseUint(fields[0], 10, 31)
		if err != nil || len(fields) != 3 || id == 0 {
			continue
		}
		switch controllers := strings.Split(fields[1], ","); {
		case slices.Contains(controllers, "name=systemd"):
			ids[0] = uint32(id)
		case slices.Contains(controllers, "cpu"):
			ids[1] = uint32(id)
		}
	}
	return ids
}
