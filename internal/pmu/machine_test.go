package pmu

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// devices are PMUs of a machine that this one is not: files by their names.
func devices() map[string]string {
	return map[string]string{
		"cpu/type":                    "4",
		"cpu/format/event":            "config:0-7",
		"cpu/format/umask":            "config:8-15",
		"cpu/format/edge":             "config:18",
		"cpu/format/inv":              "config:23",
		"cpu/format/cmask":            "config:24-31",
		"cpu/format/split":            "config:0-3,32-35",
		"cpu/format/offcore_rsp":      "config1:0-63",
		"cpu/format/ldlat":            "config1:0-15",
		"cpu/format/frontend":         "config2:0-23",
		"cpu/events/cpu-cycles":       "event=0x3c",
		"cpu/events/instructions":     "event=0xc0",
		"cpu/events/mem-loads":        "event=0xcd,umask=0x1,ldlat=3",
		"cpu/events/topdown":          "event=0x3c,umask=0x1,edge",
		"cpu/events/upper":            "event=0xA0,umask=0x0F,cmask=1,inv",
		"power/type":                  "11",
		"power/cpumask":               "0",
		"power/format/event":          "config:0-7",
		"power/events/energy":         "event=0x02",
		"power/events/energy.scale":   "2.3283064365386962890625e-10",
		"power/events/energy.unit":    "Joules",
		"uncore_imc_0/type":           "12",
		"uncore_imc_0/cpumask":        "0,18",
		"uncore_imc_0/format/event":   "config:0-7",
		"uncore_imc_0/format/umask":   "config:8-15",
		"uncore_imc_0/events/reads":   "event=0x04,umask=0x03",
		"hv_24x7/type":                "13",
		"hv_24x7/format/domain":       "config:0-3",
		"hv_24x7/format/chip":         "config:16-31",
		"hv_24x7/events/CYCLES":       "domain=2,chip=?",
		"software/type":               "1",
		"msr/type":                    "10",
		"msr/format/event":            "config:0-63",
		"msr/events/tsc":              "event=0x00",
		"msr/events/aperf":            "event=0x01",
		"tracepoint/type":             "2",
		"broken/type":                 "fourteen",
		"damaged/type":                "14",
		"damaged/format/none":         "config:",
		"damaged/format/wide":         "config:0-64",
		"damaged/format/back":         "config:7-0",
		"damaged/format/word":         "config9:0-7",
		"damaged/format/good":         "config:0-7",
		"damaged/events/itself":       "itself",
		"damaged/events/scaled":       "good=1",
		"damaged/events/scaled.scale": "-1",
	}
}

// fakeDevices has them as files.
func fakeDevices() fs.FS {
	files := fstest.MapFS{}
	for name, text := range devices() {
		files[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return files
}

// writeDevices writes them as perf expects them below the folder of sysfs.
func writeDevices(t *testing.T) (sysfs string) {
	sysfs = t.TempDir()
	for name, text := range devices() {
		path := filepath.Join(sysfs, "bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sysfs
}

// fakeTracepoints are names and the numbers of tracepoints.
type fakeTracepoints map[string]uint64

func (f fakeTracepoints) Events() ([]string, error) {
	var all []string
	for name := range f {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, nil
}

func (f fakeTracepoints) Format(event string) ([]byte, error) {
	return fmt.Appendf(nil, "name: %s\nID: %d\nformat:\n", event, f[event]), nil
}

func fakeMachine() *Machine {
	return &Machine{PMUs: fakeDevices(), Tracepoints: fakeTracepoints{"sched:sched_switch": 372, "sched:sched_waking": 375, "kvm:kvm_exit": 12}}
}
