package pmu

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// hybrid is the machine of perf's intel-hybrid.txt: CPUs 0 to 15 of one kind, CPUs 16 to 23 of another.
func hybrid(more map[string]string) *Machine {
	files := fstest.MapFS{}
	for _, all := range []map[string]string{{
		"cpu_core/type": "4", "cpu_core/cpus": "0-15", "cpu_core/format/event": "config:0-7", "cpu_core/events/cpu-cycles": "event=0x3c",
		"cpu_core/events/mem-loads": "event=0xcd", "cpu_core/events/slots": "event=0x00",
		"cpu_atom/type": "8", "cpu_atom/cpus": "16-23", "cpu_atom/format/event": "config:0-7", "cpu_atom/events/cpu-cycles": "event=0x3c",
		"cpu_atom/events/mem-loads": "event=0xd0", "uncore_imc_0/type": "12", "uncore_imc_0/cpumask": "0", "uncore_imc_0/format/event": "config:0-7",
		"software/type": "1",
	}, more} {
		for name, text := range all {
			files[name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	return &Machine{PMUs: files, Tracepoints: fakeTracepoints{"sched:sched_switch": 372}}
}

// on is a place for each pair of a list of CPUs and an Attr.
func on(pairs ...any) (all []Place) {
	for i := 0; i < len(pairs); i += 2 {
		cpus, err := ParseCPUs(pairs[i].(string))
		if err != nil {
			panic(err)
		}
		all = append(all, Place{cpus, pairs[i+1].(Attr)})
	}
	return all
}

// The configs of hardware and cache events are those that perf's documentation has: the PMU's number is in the upper half.
func TestEventsOfSeveralKindsOfCPUs(t *testing.T) {
	guest := Exclude{Guest: true}
	user := Exclude{Guest: true, Kernel: true, Hypervisor: true}
	for text, want := range map[string][]Place{
		"cycles":                    on("0-15", Attr{Config: 0x400000000, Exclude: guest}, "16-23", Attr{Config: 0x800000000, Exclude: guest}),
		"instructions:u":            on("0-15", Attr{Config: 0x400000001, Exclude: user}, "16-23", Attr{Config: 0x800000001, Exclude: user}),
		"LLC-load-misses":           on("0-15", Attr{Type: TypeCache, Config: 0x400010002, Exclude: guest}, "16-23", Attr{Type: TypeCache, Config: 0x800010002, Exclude: guest}),
		"0:1":                       on("0-15", Attr{Config: 0x400000001, Exclude: guest}, "16-23", Attr{Config: 0x800000001, Exclude: guest}),
		"0:0x800000000":             nil,
		"r1a":                       on("0-15", Attr{Type: TypeRaw, Config: 0x1a, Exclude: guest}),
		"mem-loads":                 on("0-15", Attr{Type: 4, Config: 0xcd, Exclude: guest}, "16-23", Attr{Type: 8, Config: 0xd0, Exclude: guest}),
		"slots":                     on("0-15", Attr{Type: 4, Exclude: guest}),
		"cpu_core/cycles/":          on("0-15", Attr{Config: 0x400000000, Exclude: guest}),
		"cpu_atom/L1-icache-loads/": on("16-23", Attr{Type: TypeCache, Config: 0x800000001, Exclude: guest}),
		"cpu_core/r1a/":             on("0-15", Attr{Type: 4, Config: 0x1a, Exclude: guest}),
		"cpu_atom/cpu-cycles/pp":    on("16-23", Attr{Type: 8, Config: 0x3c, Precise: 2, Exclude: guest}),
		"uncore_imc_0/event=4/":     on("0", Attr{Type: 12, Config: 4, Exclude: guest}),
		"page-faults":               nil,
		"sched:sched_switch":        nil,
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := hybrid(nil).Resolve(s)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(e.Places, want) {
			t.Errorf("%s is opened as\n%+v, want\n%+v", text, e.Places, want)
		}
		for cpu := range 25 {
			var place *Attr
			switch {
			case want == nil:
				place = &e.Attr
			case want[0].CPUs.Has(cpu):
				place = &want[0].Attr
			case len(want) > 1 && want[1].CPUs.Has(cpu):
				place = &want[1].Attr
			}
			if got := e.On(cpu); !reflect.DeepEqual(got, place) {
				t.Errorf("%s is on CPU %d %+v, want %+v", text, cpu, got, place)
			}
		}
	}
}

// On Arm the kernel itself finds the PMU of a CPU, unless a PMU is named.
func TestEventsOfSeveralKindsOfCPUsOfArm(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"armv8_cortex_a53/type": "8", "armv8_cortex_a53/cpus": "0-3", "armv8_cortex_a53/format/event": "config:0-15", "armv8_cortex_a53/events/bus_cycles": "event=0x1d",
		"armv8_cortex_a72/type": "9", "armv8_cortex_a72/cpus": "4-5", "armv8_cortex_a72/format/event": "config:0-15", "armv8_cortex_a72/events/bus_cycles": "event=0x1d",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	guest := Exclude{Guest: true}
	for text, want := range map[string][]Place{
		"cycles":                    nil,
		"r11":                       nil,
		"bus_cycles":                on("0-3", Attr{Type: 8, Config: 0x1d, Exclude: guest}, "4-5", Attr{Type: 9, Config: 0x1d, Exclude: guest}),
		"armv8_cortex_a72/event=8/": on("4-5", Attr{Type: 9, Config: 8, Exclude: guest}),
		"armv8_cortex_a53/cycles/":  on("0-3", Attr{Exclude: guest}),
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := (&Machine{PMUs: files}).Resolve(s); err != nil || !reflect.DeepEqual(e.Places, want) {
			t.Errorf("%s is opened as\n%+v, %v, want\n%+v", text, e, err, want)
		}
	}
}

func TestListsOfCPUs(t *testing.T) {
	s, err := Parse("cycles")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"x", "3-1", "1,,2", "1-", "-1", "1-2-3", "99999999999999999999", "4294967296"} {
		if e, err := hybrid(map[string]string{"cpu_atom/cpus": list}).Resolve(s); err == nil || !strings.Contains(err.Error(), "cpu_atom") {
			t.Errorf("%s: %+v, %v", list, e, err)
		}
	}
	e, err := hybrid(map[string]string{"cpu_atom/cpus": ""}).Resolve(s)
	if err != nil || e.On(16) != nil || e.On(15) == nil {
		t.Errorf("%+v, %v", e, err)
	}
	// One kind of CPUs needs no PMU's number.
	one := &Machine{PMUs: fstest.MapFS{"armv8_pmuv3_0/type": {Data: []byte("8\n")}, "armv8_pmuv3_0/cpus": {Data: []byte("0-3\n")}}}
	if e, err := one.Resolve(s); err != nil || e.Places != nil || e.Attr.Config != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}
