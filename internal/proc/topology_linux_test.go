package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
)

// machine writes the part of /sys that describes a machine of two packages and nodes, whose cores have two threads each: CPU n and n +
// half of all CPUs. Eight cores share an L3.
func machine(t testing.TB, cpus int) string {
	t.Helper()
	sysfs := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		file := filepath.Join(sysfs, "devices/system", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cores := cpus / 2
	list := func(first, n int) string {
		return fmt.Sprintf("%d-%d,%d-%d", first, first+n-1, first+cores, first+cores+n-1)
	}
	all := fmt.Sprintf("0-%d", cpus-1)
	write("cpu/possible", all)
	write("cpu/online", all)
	for n := range 2 {
		write(fmt.Sprintf("node/node%d/cpulist", n), list(n*cores/2, cores/2))
	}
	if cpus > 64 {
		cpus = cores // the files of the others need not be read
	}
	for cpu := range cpus {
		core := cpu % cores
		in := func(name, text string) { write(fmt.Sprintf("cpu/cpu%d/%s", cpu, name), text) }
		in("topology/core_cpus_list", fmt.Sprintf("%d,%d", core, core+cores))
		in("topology/physical_package_id", strconv.Itoa(core/(cores/2)))
		in("topology/package_cpus_list", list(core/(cores/2)*(cores/2), cores/2))
		for i, c := range [][3]string{{"1", "Data", "32K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32768K"}} {
			folder := fmt.Sprintf("cache/index%d/", i)
			in(folder+"level", c[0])
			in(folder+"type", c[1])
			in(folder+"size", c[2])
			if c[0] == "3" {
				in(folder+"shared_cpu_list", list(core/8*8, 8))
			} else {
				in(folder+"shared_cpu_list", fmt.Sprintf("%d,%d", core, core+cores))
			}
		}
	}
	return sysfs
}

func TestTopologyOfALargeMachine(t *testing.T) {
	const count = 1024
	sysfs := machine(t, count)
	cpus, err := CPUs(sysfs)
	if err != nil {
		t.Fatal(err)
	}
	caches := ReadTopology(sysfs, cpus)
	for i, cpu := range cpus {
		core := uint32(i % (count / 2))
		if cpu.Core == nil || *cpu.Core != core || cpu.Package == nil || *cpu.Package != core/(count/4) || cpu.Node != int32(core/(count/4)) {
			t.Fatalf("CPU %d: %v", i, cpu)
		}
	}
	if len(caches) != 4 {
		t.Fatalf("%d types of caches, want 4", len(caches))
	}
	for n, want := range []struct {
		level  uint32
		of     format.CacheType
		size   uint64
		shared int // cores
	}{
		{1, format.CacheType_CACHE_DATA, 32 << 10, 1}, {1, format.CacheType_CACHE_INSTRUCTION, 32 << 10, 1},
		{2, format.CacheType_CACHE_UNIFIED, 1 << 20, 1}, {3, format.CacheType_CACHE_UNIFIED, 32 << 20, 8},
	} {
		c := caches[n]
		if c.Level != want.level || c.Type != uint32(want.of) || c.Size != want.size {
			t.Errorf("cache %d: level %d, type %d, size %d", n, c.Level, c.Type, c.Size)
		}
		for i, used := range c.Used {
			if used != uint32(i%(count/2)/want.shared)+1 {
				t.Fatalf("level %d: CPU %d uses %d", c.Level, i, used)
			}
		}
	}
	session, err := format.AppendHeaderPayload(nil, format.CurrentVersion(), &format.Session{Cpus: cpus, Caches: caches})
	if err != nil {
		t.Fatal(err)
	}
	if len(session) > 32*count {
		t.Errorf("the header of a machine of %d CPUs has %d bytes", count, len(session))
	}
}

func TestTopologyThatIsNotShownIsUnknown(t *testing.T) {
	sysfs := machine(t, 8)
	remove := func(names ...string) {
		for _, name := range names {
			all, _ := filepath.Glob(filepath.Join(sysfs, "devices/system/cpu", name))
			for _, path := range all {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(sysfs, "devices/system/cpu", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remove("cpu1", "cpu5") // as offline CPUs
	write("online", "0,2-4,6-7\n")
	write("cpu0/topology/core_cpus_list", "0-99999999\n")
	write("cpu4/topology/core_cpus_list", strings.Repeat("4,", maxSysfsBytes))
	write("cpu2/topology/core_cpus_list", "3,7\n") // not the CPU's own
	write("cpu6/topology/core_cpus_list", "")
	remove("cpu2/cache", "cpu6/cache/index3/size")
	write("cpu6/topology/physical_package_id", "-1\n")
	remove("cpu6/topology/package_cpus_list", "cpu2/topology/package_cpus_list", "cpu3/topology/package_cpus_list")
	cpus, err := CPUs(sysfs)
	if err != nil {
		t.Fatal(err)
	}
	caches := ReadTopology(sysfs, cpus)
	var got strings.Builder
	for i, cpu := range cpus {
		number := func(n *uint32) string {
			if n == nil {
				return "-"
			}
			return strconv.Itoa(int(*n))
		}
		fmt.Fprintf(&got, "%d:%s/%s/%d ", cpu.Id, number(cpu.Package), number(cpu.Core), caches[0].Used[i])
	}
	if want := "0:0/-/1 1:-/-/0 2:1/-/3 3:1/0/2 4:0/-/1 5:-/-/0 6:1/-/3 7:1/0/2 "; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
	if none := ReadTopology(t.TempDir(), []*format.Cpu{{Id: 0}, {Id: 1}}); len(none) != 0 {
		t.Errorf("a machine without files has %v", none)
	}
}

func TestTopologyOfThisMachine(t *testing.T) {
	cpus, err := CPUs("/sys")
	if err != nil {
		t.Fatal(err)
	}
	caches := ReadTopology("/sys", cpus)
	if _, err := os.Stat("/sys/devices/system/cpu/cpu0/topology/core_cpus_list"); err == nil && cpus[0].Core == nil {
		t.Error("the core of CPU 0 is not known")
	}
	for _, cpu := range cpus {
		if cpu.Core != nil && (cpu.Offline || int(*cpu.Core) >= len(cpus)) {
			t.Errorf("CPU %d: %v", cpu.Id, cpu)
		}
	}
	for _, c := range caches {
		if len(c.Used) < runtime.NumCPU() {
			t.Errorf("a cache of level %d has %d CPUs", c.Level, len(c.Used))
		}
	}
}

func BenchmarkTopologyOf1024CPUs(b *testing.B) {
	sysfs := machine(b, 1024)
	cpus, err := CPUs(sysfs)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, cpu := range cpus {
			cpu.Core, cpu.Package = nil, nil
		}
		ReadTopology(sysfs, cpus)
	}
}
