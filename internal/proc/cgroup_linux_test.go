package proc

import (
	"bufio"
	"strings"
	"testing"
)

func TestV1Hierarchies(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  [2]uint32
	}{
		{"0::/init.scope\n", [2]uint32{}},
		{"12:cpu,cpuacct:/\n11:cpuset:/x\n1:name=systemd:/init.scope\n0::/init.scope\n", [2]uint32{1, 12}},
		{"3:cpuacct:/\n2:name=openrc:/a:b\n", [2]uint32{}},
		{"nonsense\nx:cpu:/\n7:cpu:/a:b\n", [2]uint32{0, 7}},
	} {
		if got := v1Hierarchies(bufio.NewScanner(strings.NewReader(c.lines))); got != c.want {
			t.Errorf("%q: %v, want %v", c.lines, got, c.want)
		}
	}
}
