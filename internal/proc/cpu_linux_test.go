package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestCPUsCarryTheirNodesAndWhetherTheyAreOnline(t *testing.T) {
	sysfs := t.TempDir()
	for path, text := range map[string]string{
		"cpu/possible": "0-3,6\n", "cpu/online": "0-2,6\n",
		"node/node0/cpulist": "0-1\n", "node/node1/cpulist": "2-3,6\n", "node/node2/cpulist": "\n",
	} {
		file := filepath.Join(sysfs, "devices/system", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cpus, err := CPUs(sysfs)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, cpu := range cpus {
		got += fmt.Sprintf("%d@%d", cpu.Id, cpu.Node)
		if cpu.Offline {
			got += "off"
		}
		got += " "
	}
	if want := "0@0 1@0 2@1 3@1off 6@1 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCPUsOfThisMachine(t *testing.T) {
	cpus, err := CPUs("/sys")
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < runtime.NumCPU() {
		t.Errorf("%d CPUs, and the runtime knows %d", len(cpus), runtime.NumCPU())
	}
}

func TestWrongListsOfCPUsAreRefused(t *testing.T) {
	for _, list := range []string{"a", "3-1", "0-99999999", "1,,2", "-1", "1-"} {
		if cpus, err := parseCPUList(list); err == nil {
			t.Errorf("%q gives %v, want an error", list, cpus)
		}
	}
}
