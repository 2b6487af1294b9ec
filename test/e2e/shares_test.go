//go:build linux

package e2e

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// program is a workload in one language whose functions take 20, 30 and 50 percent of its time.
type program struct {
	language string
	build    func(t *testing.T, dir string) []string // the command that runs it
	// As the functions are called in a trace: what the three are, and who calls the first two and the third.
	alpha, beta, gamma, left, right string
	// The least share of samples that show the caller. A sample in a function's first or last instructions, where it has
	// no frame of its own, skips it; and node interprets functions for a while before it compiles them.
	called float64
}

const shareSeconds = "2"

func programs() []program {
	compile := func(source string, compiler ...string) func(*testing.T, string) []string {
		return func(t *testing.T, dir string) []string {
			t.Helper()
			binary := filepath.Join(dir, "shares")
			args := append(compiler[1:], "-o", binary, "testdata/shares/"+source)
			if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
				t.Fatalf("%s %s: %v: %s", compiler[0], strings.Join(args, " "), err, out)
			}
			return []string{binary, shareSeconds}
		}
	}
	return []program{
		{"C", compile("shares.c", "gcc", "-O2", "-fno-omit-frame-pointer"), "alpha", "beta", "gamma_", "left", "right", 0.98},
		{"C++", compile("shares.cc", "g++", "-O2", "-fno-omit-frame-pointer"), "%work::spin<2>%", "%work::spin<3>%", "%work::spin<5>%", "work::Machine::left%", "work::Machine::right%", 0.98},
		{"Go", compile("shares.go", "go", "build"), "main.alpha", "main.beta", "main.gamma", "main.left", "main.right", 0.98},
		{"Rust", compile("shares.rs", "rustc", "-O", "-Cforce-frame-pointers=yes"), "shares::work::alpha", "shares::work::beta", "shares::work::gamma", "%Tree%::left", "%Tree%::right", 0.98},
		{"node", func(t *testing.T, dir string) []string {
			pid := filepath.Join(dir, "pid")
			t.Cleanup(func() { removeMap(t, pid) })
			return []string{"node", "--perf-basic-prof", "--always-sparkplug", "--logfile=" + filepath.Join(dir, "v8.log"), "--no-logfile-per-isolate",
				"--no-turbo-inlining", "testdata/shares/shares.js", shareSeconds, pid}
		}, "%alpha %", "%beta %", "%gamma %", "%left %", "%right %", 0.8},
	}
}

// removeMap removes the map that a JIT has left in /tmp, where it stays for good.
func removeMap(t *testing.T, pidFile string) {
	t.Helper()
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Error(err)
		return
	}
	if err := os.Remove("/tmp/perf-" + string(pid) + ".map"); err != nil {
		t.Error(err)
	}
}

// sampled runs a program under the recorder and converts the capture.
func sampled(t *testing.T, p program) (trace string) {
	t.Helper()
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	command := p.build(t, dir)
	capture := filepath.Join(dir, "shares.wprof")
	// Odd, so that the samples do not keep step with anything.
	args := append([]string{"-Stimer=2999hz", "-o", capture, "--"}, command...)
	cmd := exec.Command(tools.Path("wprof-record"), args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("wprof-record %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return tools.Convert(t, filepath.Join(dir, "shares.pb"), "wprof-perfetto", capture)
}

// callers lists for each sample of the program the function where it is and the one that called it.
const callers = `
	with f as (select c.id, c.parent_id, coalesce(fr.deobfuscated_name, fr.name) as name
	  from stack_profile_callsite c join stack_profile_frame fr on c.frame_id = fr.id)
	select leaf.name as leaf, caller.name as caller, count(*) as n
	from perf_sample s join f leaf on s.callsite_id = leaf.id left join f caller on leaf.parent_id = caller.id
	group by 1, 2`

// leafSamples returns how many samples are in functions whose name is like a pattern, and how many of these were called from
// one that is like another.
func leafSamples(t *testing.T, trace, name, caller string) (in, called int64) {
	t.Helper()
	row := one(t, trace, fmt.Sprintf(`select coalesce(sum(n), 0) as inside, coalesce(sum(iif(caller like '%s', n, 0)), 0) as called
		from (%s) where leaf like '%s'`, caller, callers, name))
	return number(t, row, "inside"), number(t, row, "called")
}

func TestSharesOfFunctionsAreTheirs(t *testing.T) {
	for _, p := range programs() {
		t.Run(p.language, func(t *testing.T) {
			// Fifteen shares, each in its 99% interval: one of seven runs has one outside by chance alone, hardly any
			// has it three times.
			var wrong []string
			for range 3 {
				if wrong = sharesOf(t, p); len(wrong) == 0 {
					return
				}
			}
			t.Error(strings.Join(wrong, "\n"))
		})
	}
}

// sharesOf runs a program and returns what is outside its interval.
func sharesOf(t *testing.T, p program) (wrong []string) {
	t.Helper()
	trace := sampled(t, p)
	engine.CheckStats(t, trace)
	alpha, alphaCalled := leafSamples(t, trace, p.alpha, p.left)
	beta, betaCalled := leafSamples(t, trace, p.beta, p.left)
	gamma, gammaCalled := leafSamples(t, trace, p.gamma, p.right)
	n := float64(alpha + beta + gamma)
	if n < 1000 {
		return []string{fmt.Sprintf("%v samples in the three functions:\n%v", n, query(t, trace, callers+" order by n desc limit 20"))}
	}
	for _, f := range []struct {
		name  string
		in    int64
		share float64
	}{{p.alpha, alpha, 0.2}, {p.beta, beta, 0.3}, {p.gamma, gamma, 0.5}} {
		// 99% of samples of that size are within 2.576 standard deviations of the binomial distribution.
		slack := 2.576 * math.Sqrt(f.share*(1-f.share)/n)
		if got := float64(f.in) / n; math.Abs(got-f.share) > slack {
			wrong = append(wrong, fmt.Sprintf("%s has %.1f%% of %v samples, not %.0f%% ± %.1f%%", f.name, 100*got, n, 100*f.share, 100*slack))
		}
	}
	if called := alphaCalled + betaCalled + gammaCalled; float64(called) < p.called*n {
		wrong = append(wrong, fmt.Sprintf("%d of %v samples have the right caller: %v", called, n, query(t, trace, callers+" order by n desc limit 20")))
	}
	return wrong
}
