package pmu

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestEventsAreResolved(t *testing.T) {
	guest := Exclude{Guest: true}
	user := Exclude{Guest: true, Kernel: true, Hypervisor: true}
	for text, want := range map[string]Event{
		"sw:cpu-clock":                        {Unit: "ns", Attr: Attr{Type: TypeSoftware, Exclude: guest}},
		"task-clock/name=t/":                  {Name: "t", Unit: "ns", Attr: Attr{Type: TypeSoftware, Config: 1, Exclude: guest}},
		"sw:faults:u":                         {Attr: Attr{Type: TypeSoftware, Config: 2, Exclude: user}},
		"r0x3c":                               {Attr: Attr{Type: TypeRaw, Config: 0x3c, Exclude: guest}},
		"sched:sched_switch":                  {Tracepoint: "sched:sched_switch", Attr: Attr{Type: TypeTracepoint, Config: 372, Exclude: guest}},
		"tp:sched:sched_switch":               {Tracepoint: "sched:sched_switch", Attr: Attr{Type: TypeTracepoint, Config: 372, Exclude: guest}},
		"tracepoint:sched:sched_switch:u":     {Tracepoint: "sched:sched_switch", Attr: Attr{Type: TypeTracepoint, Config: 372, Exclude: user}},
		"sched:sched_switch/name=switches/u":  {Name: "switches", Tracepoint: "sched:sched_switch", Attr: Attr{Type: TypeTracepoint, Config: 372, Exclude: user}},
		"cycles/name=c,period=7/":             {Name: "c", Rate: Rate{Period: 7}, Attr: Attr{Exclude: guest}},
		"cycles/name='a/b,c',freq=9/":         {Name: "a/b,c", Rate: Rate{Frequency: 9}, Attr: Attr{Exclude: guest}},
		"power/energy/":                       {Uncore: true, Places: on("0", Attr{Type: 11, Config: 2, Exclude: guest}), Unit: "Joules", Scale: 2.3283064365386962890625e-10, Attr: Attr{Type: 11, Config: 2, Exclude: guest}},
		"reads":                               {Uncore: true, Places: on("0,18", Attr{Type: 12, Config: 0x304, Exclude: guest}), Attr: Attr{Type: 12, Config: 0x304, Exclude: guest}},
		"hv_24x7/CYCLES,chip=5/":              {Attr: Attr{Type: 13, Config: 0x50002, Exclude: guest}},
		"cpu/event=cpu-cycles/":               {Attr: Attr{Type: TypeRaw, Config: 0x3c, Exclude: guest}},
		"cpu/ldlat=30,mem-loads/":             {Attr: Attr{Type: TypeRaw, Config: 0x1cd, Config1: 30, Exclude: guest}},
		"cycles:P":                            {MaxPrecise: true},
		"cpu/config3=5/":                      {Attr: Attr{Type: TypeRaw, Config3: 5, Exclude: guest}},
		"cpu/offcore_rsp=0xffffffffffffffff/": {Attr: Attr{Type: TypeRaw, Config1: 1<<64 - 1, Exclude: guest}},
	} {
		want.Text = text
		if want.Name == "" {
			want.Name = text
		}
		if got, err := resolve(text); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// perf 6.1 combines the bits of a term that is given twice, so that ldlat=30 of mem-loads, which has 3, is 31.
func TestTermOverridesDescription(t *testing.T) {
	e, err := resolve("cpu/mem-loads,ldlat=30/P")
	if err != nil || e.Attr.Config1 != 30 {
		t.Errorf("%+v, %v, want 30 in config1", e, err)
	}
}

func resolve(text string) (*Event, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return fakeMachine().Resolve(s)
}

func TestWrongEventsNameWhatIsNear(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "empty",
		"cycels":                  "did you mean cycles?",
		"sw:page-fault":           "did you mean page-faults",
		"sw:cycles":               "no software event",
		"cycles:x":                "not a list of modifiers",
		"cycles:uu":               "given twice",
		"cycles:pppp":             "more than three times",
		"cycles:S":                "groups of events",
		"cycles/u":                "second slash is missing",
		"cycles:u/name=x/k":       "before the slash and after it",
		"cycles/event=1/":         "unknown term event",
		"cpu/evnt=1/":             "did you mean event?",
		"cpu/cpu-cycle/":          "did you mean cpu-cycles?",
		"cpu/event=0x100/":        "the largest value is 0xff",
		"cpu/event=x/":            "no number",
		"cpu/event=/":             "has no value",
		"cpu/event=1,,umask=1/":   "a term is empty",
		"cpu/config=y/":           "no number",
		"cpu/name/":               "has no value",
		"cpu/period=0/":           "must be 1 or more",
		"cpo/event=1/":            "did you mean cpu?",
		"/event=1/":               "PMU before the first slash is missing",
		"hv_24x7/CYCLES/":         "add chip=NUMBER",
		"sched:sched_swtch":       "did you mean sched:sched_switch",
		"sched:*":                 "-f tp=sched:*",
		"sched:sched_switch:z":    "not a list of modifiers",
		"sched:sched_switch:u:u":  "too many colons",
		"tracepoint/config=1/":    "GROUP:NAME",
		"broken/event=1/":         "which is no number",
		"damaged/none=1/":         "not a range within 0-63",
		"damaged/wide=1/":         "not a range within 0-63",
		"damaged/back=1/":         "not a range within 0-63",
		"damaged/word=1/":         "does not begin with config",
		"damaged/itself/":         "has no term itself",
		"damaged/scaled/":         "no positive number",
		"..":                      "no such event",
		"../cpu/event=1/":         "not a list of modifiers",
		"a.b/event=1/":            "no PMU",
		"iTLB-stores":             "no such event",
		"page-faults,cycles":      "several events are several flags",
		"L1-dcache-loads-x":       "no such event",
		"a\nb":                    "printable",
		strings.Repeat("a", 1025): "longer than",
		"cpu/" + strings.Repeat("event=1,", 65) + "umask=1/": "more than 64 terms",
	} {
		if e, err := resolve(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, error %v; want one with %q", clip(text), e, err, want)
		}
	}
}

func TestTracepointsThatCannotBeRead(t *testing.T) {
	s, err := Parse("sched:sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	for _, points := range []Tracepoints{nil, unreadable{}} {
		if _, err := (&Machine{PMUs: fakeDevices(), Tracepoints: points}).Resolve(s); err == nil {
			t.Error("no error")
		}
	}
}

type unreadable struct{}

func (unreadable) Events() ([]string, error)     { return nil, errors.New("none") }
func (unreadable) Format(string) ([]byte, error) { return nil, errors.New("none") }

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{
		"cycles": {}, "cycles@99hz": {Frequency: 99}, "cycles@2kHz": {Frequency: 2000}, "cycles@freq=5": {Frequency: 5},
		"cycles@1000": {Period: 1000}, "cycles@period=7": {Period: 7}, "cpu/name=a@b/": {}, "cpu/name=a@b/u@3": {Period: 3},
	} {
		event, rate, err := CutRate(text)
		if err != nil || rate != want || !strings.HasPrefix(text, event) || want.IsZero() != (event == text) {
			t.Errorf("%s is %q at %+v, %v; want %+v", text, event, rate, err, want)
		}
		if want.IsZero() {
			continue
		}
		if _, again, err := CutRate("x@" + rate.String()); err != nil || again != rate {
			t.Errorf("%s is written as %s, which is %+v, %v", text, rate, again, err)
		}
	}
	for _, text := range []string{"cycles@", "cycles@hz", "cycles@0", "cycles@0hz", "cycles@-1", "cycles@1.5hz", "cycles@9999999999hz", "cycles@period=9223372036854775808", "c@99999999999999999999hz"} {
		if _, rate, err := CutRate(text); err == nil {
			t.Errorf("%s is %+v", text, rate)
		}
	}
}

func TestMetrics(t *testing.T) {
	for text, want := range map[string]Derived{
		"derived:ipc=instructions/cpu-cycles":                {"ipc", "instructions", "cpu-cycles"},
		"derived:x=cpu/event=1/u/instructions":               {"x", "cpu/event=1/u", "instructions"},
		"derived:x=cpu/event=1//cpu/event=2,umask=1/":        {"x", "cpu/event=1/", "cpu/event=2,umask=1/"},
		"derived:miss=sched:sched_switch/context-switches:u": {"miss", "sched:sched_switch", "context-switches:u"},
	} {
		if got, err := ParseDerived(text); err != nil || *got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "derived:", "derived:ipc", "derived:=a/b", "derived:ipc=a", "derived:ipc=/b", "derived:ipc=a/", "ipc=a/b", "derived:a/b=c/d"} {
		if got, err := ParseDerived(text); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
}
