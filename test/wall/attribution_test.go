//go:build linux

package wall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// onCPUStacks are a capture's stacks on the CPU with their weights.
func onCPUStacks(t *testing.T, capture string, flags ...string) map[string]float64 {
	t.Helper()
	stacks := make(map[string]float64)
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", append(append([]string{"--on-cpu", "--unit=ns"}, flags...), capture)...))) {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		stacks[line[:at]] += float64(n)
	}
	return stacks
}

// sumOf adds up the stacks with a text in them.
func sumOf(stacks map[string]float64, text string) (sum float64) {
	for stack, n := range stacks {
		if strings.Contains(stack, text) {
			sum += n
		}
	}
	return sum
}

// recordCommand records a command and returns the capture and what the command printed.
func recordCommand(t *testing.T, flags []string, command ...string) (capture string, out []byte) {
	t.Helper()
	tools.NeedPrivilege(t)
	capture = filepath.Join(t.TempDir(), "command.wprof")
	cmd := exec.Command(tools.Path("wprof-record"), append(append(flags, "-o", capture, "--"), command...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("record %s: %v: %s", strings.Join(command, " "), err, stderr.Bytes())
	}
	// wprof-record gives the command its standard error as standard output, so that a stream there stays whole.
	return capture, append(stdout.Bytes(), stderr.Bytes()...)
}

// Work in short bursts and work in long ones have the shares that the program measured itself, within the standard error, also where every
// burst is in a thread of its own.
func TestShortBurstsCountAsMuchAsLongOnes(t *testing.T) {
	for _, threads := range []bool{false, true} {
		t.Run(fmt.Sprintf("threads=%t", threads), func(t *testing.T) {
			t.Parallel()
			command := []string{tools.Path("halves")}
			if threads {
				command = append(command, "threads")
			}
			capture, out := recordCommand(t, []string{"-Stimer=99hz"}, command...)
			var short, long float64
			for line := range strings.Lines(string(out)) {
				if _, err := fmt.Sscan(line, &short, &long); err == nil {
					break
				}
			}
			if short < 1e9 || long < 1e9 {
				t.Fatalf("the program printed %q", out)
			}
			stacks, samples := onCPUStacks(t, capture, "-n", "halves"), onCPUStacks(t, capture, "-n", "halves", "--unit=samples")
			shownShort, shownLong, n := sumOf(stacks, ";in_short_bursts"), sumOf(stacks, ";in_long_bursts"), sumOf(samples, ";in_")
			if n < 100 {
				t.Fatalf("%v samples", n)
			}
			want, got := short/(short+long), shownShort/(shownShort+shownLong)
			standardError := 0.5 / math.Sqrt(n)
			t.Logf("in short bursts for %.1f%% of the time, it measured %.1f%%, with %v samples ± %.1f%%", 100*got, 100*want, n, 100*standardError)
			if math.Abs(got-want) > 4*standardError {
				t.Errorf("in short bursts for %.1f%% of the time, want %.1f ± %.1f%%", 100*got, 100*want, 100*standardError)
			}
			if all, none := sumOf(stacks, ""), sumOf(stacks, "[not sampled]"); none > 0.02*all {
				t.Errorf("%.1f%% of the time on the CPU is not sampled", 100*none/all)
			}
			// Speedscope tells threads apart, so most of the short ones are not sampled there.
			if inOrder := shortInSpeedscope(t, capture); !threads && math.Abs(inOrder-want) > 4*standardError {
				t.Errorf("in speedscope %.1f%%, want %.1f ± %.1f%%", 100*inOrder, 100*want, 100*standardError)
			}
			spans := onCPUStacks(t, capture, "-n", "halves", "--spread=span")
			if sumOf(spans, "") != sumOf(stacks, "") {
				t.Errorf("%v ns on the CPU, %v span by span", sumOf(stacks, ""), sumOf(spans, ""))
			}
		})
	}
}

// shortInSpeedscope is the share of the short bursts in the time of all bursts that speedscope would show.
func shortInSpeedscope(t *testing.T, capture string) float64 {
	t.Helper()
	var file struct {
		Profiles []struct {
			Samples [][]int
			Weights []float64
		}
		Shared struct{ Frames []struct{ Name string } }
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-flame", "--speedscope", "--on-cpu", "-n", "halves", capture), &file); err != nil {
		t.Fatal(err)
	}
	var short, long float64
	for _, p := range file.Profiles {
		for i, stack := range p.Samples {
			for _, frame := range stack {
				switch file.Shared.Frames[frame].Name {
				case "in_short_bursts":
					short += p.Weights[i]
				case "in_long_bursts":
					long += p.Weights[i]
				}
			}
		}
	}
	return short / (short + long)
}

// With the default flags of recorder and renderer, less than 2% of the time on the CPU of ordinary programs has no place.
func TestTimeOnTheCPUHasAPlace(t *testing.T) {
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]func(dir string) []string{
		"g++": func(dir string) []string {
			return []string{"g++", "-O2", "-o", filepath.Join(dir, "a.out"), "testdata/compiled.cc"}
		},
		"go build": func(dir string) []string {
			return []string{"env", "GOCACHE=" + filepath.Join(dir, "cache"), "go", "build", "-o", filepath.Join(dir, "a.out"), "encoding/json"}
		},
		"Python server": func(string) []string { return []string{string(python), "testdata/requests.py", "3"} },
		"redis": func(dir string) []string {
			return []string{"sh", "-c", `redis-server --port 0 --unixsocket "$0/s" --save "" --appendonly no >/dev/null & server=$!
				until redis-cli -s "$0/s" ping >/dev/null 2>&1; do sleep 0.1; done
				redis-benchmark -s "$0/s" -n 150000 -c 30 -q -t get,set >/dev/null; kill $server; wait`, dir}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			capture, _ := recordCommand(t, nil, command(dir)...)
			stacks := onCPUStacks(t, capture)
			all, none := sumOf(stacks, ""), sumOf(stacks, "[not sampled]")
			if all < 1e9 {
				t.Fatalf("only %v ns on the CPU", all)
			}
			spans := onCPUStacks(t, capture, "--spread=span")
			t.Logf("of %.1f s on the CPU %.2f%% is not sampled; span by span %.1f%%", all/1e9, 100*none/all, 100*sumOf(spans, "[not sampled]")/all)
			if none >= 0.02*all {
				t.Errorf("%.2f%% of %.1f s on the CPU is not sampled", 100*none/all, all/1e9)
			}
			if sumOf(spans, "") != all {
				t.Errorf("%v ns on the CPU, %v span by span", all, sumOf(spans, ""))
			}
			picture := filepath.Join(dir, "picture.svg")
			tools.Run(t, "wprof-flame", "--svg="+picture, capture)
			if svg, err := os.ReadFile(picture); err != nil || !bytes.Contains(svg, []byte(" Hz timer, ")) {
				t.Errorf("the picture does not say how it was sampled: %v", err)
			}
		})
	}
}
