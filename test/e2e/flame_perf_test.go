//go:build linux

package e2e

import (
	"bytes"
	"cmp"
	"math"

	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// compared is how long perf and the recorder sample the same program, and the frequency: 1,500 times in all.
const (
	compared  = 3 * time.Second
	frequency = "499"
)

// weights are how much of something is in each function.
type weights map[string]float64

func (w weights) sum() (all float64) {
	for _, n := range w {
		all += n
	}
	return all
}

// Where perf and the recorder sample the same run of a program, they agree on its functions. Both take samples by chance,
// so shares differ by chance: of a share p, seen in n1 and n2 samples, by sqrt(p(1-p)(1/n1+1/n2)) and more in a third of
// all cases. More than 4.4 times as much happens once in 100,000; here are 40 shares, so once in 2,500 runs.
func TestOnCPUSharesAgreeWithPerf(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	dir := t.TempDir()
	work := tools.StartWorkload(t, exec.Command(tools.Path("many"), strconv.Itoa(int(compared/time.Second))))
	perfData := filepath.Join(dir, "perf.data")
	perf := exec.Command("perf", "record", "-F", frequency, "-g", "-e", "cpu-clock", "-o", perfData, "-p", work.PIDText())
	var said bytes.Buffer
	perf.Stdout, perf.Stderr = &said, &said
	if err := perf.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = perf.Process.Kill() })
	capture := tools.Record(t, filepath.Join(dir, "many.wprof"), []string{"-Stimer=" + frequency + "hz", "-p", work.PIDText()}, func() {
		time.Sleep(time.Second) // perf does not report when it is ready
		work.Send("\n")
		work.Until("done")
	})
	work.Send("\n") // a recorder whose process ends names its functions, which a signal then would end
	if err := perf.Wait(); err != nil {
		t.Fatalf("perf record: %v: %s", err, said.Bytes())
	}
	perfSelf, perfTotal := perfShares(t, perfData)
	ourSelf, ourTotal := foldedShares(t, tools.Run(t, "wprof-flame", "--on-cpu", "--kernel-frames", "--unit", "ns", capture))
	samples := foldedSamples(t, tools.Run(t, "wprof-flame", "--on-cpu", "--kernel-frames", "--unit", "samples", capture))
	t.Logf("perf has %.0f samples, the recorder %.0f", perfSelf.sum(), samples)
	agree(t, "in the function", perfSelf, perfSelf.sum(), ourSelf, samples)
	agree(t, "in the function and what it calls", perfTotal, perfSelf.sum(), ourTotal, samples)
}

// agree compares the 20 functions with the largest shares.
func agree(t *testing.T, what string, perf weights, n1 float64, ours weights, n2 float64) {
	t.Helper()
	if n1 < 200 || n2 < 200 {
		t.Fatalf("%s: %.0f and %.0f samples are too few", what, n1, n2)
	}
	all := ours["all"]
	defer func() {
		if t.Failed() {
			t.Logf("%s: wprof-flame has %v", what, ours)
		}
	}()
	for _, name := range top(perf, 20) {
		p, q := perf[name]/n1, ours[name]/all
		both := (perf[name] + q*n2) / (n1 + n2)
		spread := math.Sqrt(both * (1 - both) * (1/n1 + 1/n2))
		if math.Abs(p-q) > 4.4*spread {
			t.Errorf("%s %s: perf has %.2f%%, wprof-flame %.2f%%, which is %.1f times the spread", what, name, 100*p, 100*q, math.Abs(p-q)/spread)
		}
	}
}

// top are the names of the n largest functions of the program itself.
func top(w weights, n int) (names []string) {
	for name := range w {
		if strings.HasPrefix(name, "work") || name == "left" || name == "middle" || name == "right" || name == "run" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(w[b], w[a]), cmp.Compare(a, b)) })
	return names[:min(n, len(names))]
}

// perfShares counts the samples of each function, and of each with what it calls, as perf script prints them.
func perfShares(t *testing.T, data string) (self, total weights) {
	t.Helper()
	cmd := exec.Command("perf", "script", "-i", data, "-F", "tid,ip,sym")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("perf script: %v: %s", err, errs.Bytes())
	}
	self, total = make(weights), make(weights)
	for sample := range strings.SplitSeq(out.String(), "\n\n") {
		seen := make(map[string]bool)
		for i, line := range strings.Split(strings.TrimSpace(sample), "\n")[1:] {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			if i == 0 {
				self[fields[1]]++
			}
			if !seen[fields[1]] {
				seen[fields[1]] = true
				total[fields[1]]++
			}
		}
	}
	return self, total
}

// foldedShares are the same of folded stacks. Time without a sample has no functions.
func foldedShares(t *testing.T, folded []byte) (self, total weights) {
	t.Helper()
	self, total = make(weights), make(weights)
	for line := range strings.Lines(string(folded)) {
		stack, n := foldedLine(t, line)
		if stack[len(stack)-1] == "[not sampled]" {
			continue
		}
		self[stack[len(stack)-1]] += n
		self["all"] += n
		total["all"] += n
		seen := make(map[string]bool)
		for _, name := range stack[1:] {
			if !seen[name] {
				seen[name] = true
				total[name] += n
			}
		}
	}
	return self, total
}

func foldedSamples(t *testing.T, folded []byte) (all float64) {
	t.Helper()
	for line := range strings.Lines(string(folded)) {
		_, n := foldedLine(t, line)
		all += n
	}
	return all
}

func foldedLine(t *testing.T, line string) (stack []string, n float64) {
	t.Helper()
	end := strings.LastIndexByte(line, ' ')
	n, err := strconv.ParseFloat(strings.TrimSpace(line[end+1:]), 64)
	if err != nil || end < 0 {
		t.Fatalf("%q is no folded stack", line)
	}
	return strings.Split(line[:end], ";"), n
}
