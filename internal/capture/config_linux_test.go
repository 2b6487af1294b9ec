package capture

import (
	"testing"
	"time"

	"wprof/format"
)

func TestLastSettingOfAFeatureWins(t *testing.T) {
	for _, c := range []struct {
		lists                   []string
		sched, wakeup, taskLife bool
		wrong                   bool
	}{
		{nil, true, true, true, false},
		{[]string{"no-sched,no-wakeup"}, false, false, true, false},
		{[]string{"no-sched", "sched"}, true, true, true, false},
		{[]string{"sched,no-task-life"}, true, true, false, false},
		{[]string{"no-sched,no-wakeup,no-task-life"}, false, false, false, true},
		{[]string{"no-sched,no-wakeup,no-task-life,samples"}, false, false, false, false},
		{[]string{"samples,no-sched,no-wakeup,no-task-life", "no-samples"}, false, false, false, true},
	} {
		var cfg Config
		err := cfg.setFeatures(c.lists)
		off := cfg.Kernel.Off
		if (err != nil) != c.wrong || off&format.GroupSched == 0 != c.sched || off&format.GroupWakeup == 0 != c.wakeup || off&format.GroupTaskLife == 0 != c.taskLife {
			t.Errorf("%v: %b, %v", c.lists, off, err)
		}
	}
}

func TestRingsAreMadeForCPUsThatAreOnline(t *testing.T) {
	cpus := []*format.Cpu{{Id: 0}, {Id: 1, Offline: true}, {Id: 2}, {Id: 3, Offline: true}}
	if got := cpusToServe(cpus); got != 3 {
		t.Errorf("rings for %d CPUs, want 3: CPU 2 is the last online one", got)
	}
}

func TestCompressionFollowsTheOutput(t *testing.T) {
	for _, c := range []struct {
		level   int
		regular bool
		want    int
	}{{-1, true, 1}, {-1, false, 0}, {0, true, 0}, {3, false, 3}} {
		cfg := Config{Level: c.level}
		if got := cfg.level(c.regular); got != c.want {
			t.Errorf("-z %d, regular file %v: level %d, want %d", c.level, c.regular, got, c.want)
		}
	}
}

func TestMetadataMustBePairs(t *testing.T) {
	all, err := metadata([]string{"a=b=c", "key="})
	if err != nil || len(all) != 2 || all[0].Value != "b=c" || all[1].Value != "" {
		t.Errorf("%v, %v", all, err)
	}
	for _, wrong := range []string{"a", "=b", ""} {
		if _, err := metadata([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestPeriodsOfSamples(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"timer": 10 * time.Millisecond, "timer=99hz": 10101010, "timer=1khz": time.Millisecond, "timer=2.5ms": 2500 * time.Microsecond,
		"+timer=1000Hz": time.Millisecond, "all": 10 * time.Millisecond, "offcpu": 0, "+waker": 0,
	} {
		var got Stacks
		if err := got.add(value); err != nil || got.Timer != want {
			t.Errorf("-S%s: every %v, %v; want %v", value, got.Timer, err, want)
		}
	}
	for _, value := range []string{"timer=", "timer=99", "timer=0hz", "timer=-5hz", "timer=nanhz", "timer=infhz", "timer=1mhz", "timer=1us", "timer=2m", "cpu=99hz", "=99hz", "offcpu=5ms", "all=99hz"} {
		var got Stacks
		if err := got.add(value); err == nil {
			t.Errorf("-S%s is taken as %+v", value, got)
		}
	}
}
