package stranger

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

const page = "../../format/FORMAT.md"

// python runs one of the programs in testdata and returns what it writes.
func python(t *testing.T, args ...string) []byte {
	t.Helper()
	for _, name := range [...]string{"python3", "zstd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no ", name)
		}
	}
	cmd := exec.Command("python3", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// eventsOf are the lines of events in a text, and how many each kind has.
func eventsOf(text []byte) (lines []string, kinds map[string]int) {
	kinds = map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "  +") || strings.HasPrefix(line, "  -") {
			lines = append(lines, line)
			kinds[strings.Fields(line)[2]]++
		}
	}
	return lines, kinds
}

func TestReaderMadeFromThePageReadsWhatTheToolsRead(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, level := range [...]string{"-z0", "-z1"} {
		capture := tools.Record(t, filepath.Join(t.TempDir(), "host.wprof"), []string{level}, func() {
			for range 20 {
				if err := exec.Command("sh", "-c", "true | sleep 0.01").Run(); err != nil {
					t.Error(err)
				}
			}
		})
		want, kinds := eventsOf(tools.Run(t, "wprof-info", "--dump", capture))
		got, _ := eventsOf(python(t, "testdata/read.py", page, capture))
		if !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: %d events, want %d; they differ from number %d on:\ngot  %q\nwant %q", level, len(got), len(want), i, slices.Concat(got[i:], []string{""})[0], slices.Concat(want[i:], []string{""})[0])
		}
		for _, kind := range [...]string{"switch", "waking", "wakeup_new", "fork", "exec", "exit", "state_cpu", "state_thread"} {
			if kinds[kind] == 0 {
				t.Errorf("%s: nothing of kind %s happened: the test does not test", level, kind)
			}
		}
	}
}

func TestCaptureOfAWriterMadeFromThePageIsSoundAndHasItsTimes(t *testing.T) {
	capture := filepath.Join(t.TempDir(), "stranger.wprof")
	if err := os.WriteFile(capture, python(t, "testdata/write.py"), 0o666); err != nil {
		t.Fatal(err)
	}
	tools.Run(t, "wprof-info", "--check", capture)
	has := func(out []byte, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !bytes.Contains(out, []byte(text)) {
				t.Errorf("%q is not in\n%s", text, out)
			}
		}
	}
	// The time that wprof-flame adds up is what wprof-info shows from the writer's end block, and what wprof-filter computes for its own.
	has(tools.Run(t, "wprof-flame", "--folded", capture), "first-10;[not sampled]_[c] 4000\n", "second-20;[not sampled]_[c] 3500\n",
		"second-20;waits_[o] 1000\n", "second-20;waits;[runnable]_[o] 1000\n")
	filtered := tools.Convert(t, filepath.Join(t.TempDir(), "filtered.wprof"), "wprof-filter", capture)
	for _, path := range [...]string{capture, filtered} {
		has(tools.Run(t, "wprof-info", "--dump", path), `process 10 comm="first" ns=4000000 `, `process 20 comm="second" ns=3500000 `)
	}
	has(tools.Run(t, "wprof-json", capture), `"waking_ts":0.001000000`, `"offcpu_dur":0.002000000`, `"compound_delay":0.002000000`,
		`"t":"lost","cpu":0,"dur":0.001000000,"start_ts":0.007000000,"count":5`, `"frames":["[U] waits+0x10"]`)
	tools.Run(t, "wprof-perfetto", "-o", filepath.Join(t.TempDir(), "trace.pb"), capture)
	range4 := tools.Convert(t, filepath.Join(t.TempDir(), "range.wprof"), "wprof-filter", "--start", "1ms", "--end", "5ms", capture)
	has(tools.Run(t, "wprof-info", "--dump", range4), `process 10 comm="first" ns=2000000 `, `process 20 comm="second" ns=2000000 `)
	has(tools.Run(t, "wprof-flame", "--folded", range4), "first-10;[not sampled]_[c] 2000\n", "second-20;[not sampled]_[c] 2000\n")
}
