//go:build linux

package report

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"wprof/test/tools"
)

// answer is what is read of wprof-info --report --json.
type answer struct {
	WorkNs    int64 `json:"work_ns"`
	Findings  []finding
	Functions []struct {
		Name  string
		Total float64
	}
	Time []struct {
		Class string
		Ns    int64
	}
}

type finding struct {
	Kind, Summary, Command string
	Weight                 float64
	PID                    int
}

// report is what the report says of some processes of a capture.
func report(t *testing.T, args ...string) (a answer) {
	t.Helper()
	out := tools.Run(t, "wprof-info", append([]string{"--report", "--json"}, args...)...)
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

// checkFindings compares the first finding about a scenario with its illness; a healthy one has none. On a busy machine each one also
// waits for a CPU, which is found, and counts if the kernel has counted it, too.
func checkFindings(t *testing.T, s *scenario) {
	args := []string{s.capture.file}
	if !s.alone {
		args = append(args, "-p", strconv.Itoa(s.pid))
	}
	a := report(t, args...)
	found := a.Findings
	if s.finding != "cpu-starved" && s.delayed() {
		found = slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.Kind == "cpu-starved" })
	}
	switch {
	case s.finding == "" && len(found) > 0:
		t.Errorf("the program is healthy; found: %+v", found)
	case s.finding != "" && (len(found) == 0 || found[0].Kind != s.finding):
		t.Errorf("the first finding is not %s: %+v; time: %+v", s.finding, found, a.Time)
	}
}

// delayed reports whether the kernel says that the threads waited for a CPU for a tenth of the time in which they could run.
func (s *scenario) delayed() bool {
	cpu, delay := int64(0), int64(0)
	for _, th := range s.threads {
		cpu, delay = cpu+th.cpu, delay+th.delay
	}
	return delay > (cpu+delay)/10
}
