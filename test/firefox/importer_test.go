//go:build linux

package firefox

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// importer is the Firefox Profiler's own code with a profile open: its command-line interface talks to a process of its own, which
// reads the file as profiler.firefox.com does.
type importer struct {
	t      *testing.T
	script string
	env    []string
}

// open opens a profile.
func open(t *testing.T, profile string) *importer {
	t.Helper()
	script, err := filepath.Abs("../../build/firefox-profiler/profiler-cli.js")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(script)
	node, missing := exec.LookPath("node")
	if err != nil || missing != nil {
		text := "the Firefox Profiler or node is missing; scripts/fetch-firefox-profiler downloads it"
		if os.Getenv("CI") != "" || os.Getenv("WPROF_TEST_ALL") != "" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	// The path of a socket in it must be short.
	folder, err := os.MkdirTemp("", "ff")
	if err != nil {
		t.Fatal(err)
	}
	i := &importer{t, script, append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+folder)}
	var said bytes.Buffer
	cmd := exec.Command(node, script, "--daemon", profile, "--session", "test")
	cmd.Env, cmd.Stdout, cmd.Stderr = i.env, &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.RemoveAll(folder)
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		// A query of a session that is not published yet removes its socket.
		_, err := os.Stat(filepath.Join(folder, "test.json"))
		if err == nil {
			if _, err = i.run("profile", "meta"); err == nil {
				return i
			}
		}
		if time.Now().After(end) {
			out, err := i.run("profile", "meta")
			t.Fatalf("the importer does not open the profile: %v\n%s\n%s", err, out, said.String())
		}
	}
}

func (i *importer) run(args ...string) ([]byte, error) {
	cmd := exec.Command("node", append(append([]string{i.script}, args...), "--session", "test", "--json")...)
	cmd.Env = i.env
	return cmd.Output()
}

// query runs a command of its interface.
func (i *importer) query(answer any, args ...string) {
	i.t.Helper()
	out, err := i.run(args...)
	if err != nil {
		i.t.Fatalf("%v: %v %s", args, err, out)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		i.t.Fatalf("%v: %v in %.1000s", args, err, out)
	}
}

// thread is a thread as the importer has it.
type thread struct {
	ThreadIndex            int
	Name, ProcessName, TID string
	PID                    string
	CPUMs                  float64
	MarkerCount            int
}

func (i *importer) threads() []thread {
	i.t.Helper()
	var list struct{ Threads []thread }
	i.query(&list, "thread", "list", "--limit", "0")
	return list.Threads
}

// milliseconds is the time in each category, and in its subcategories behind a slash.
func (i *importer) milliseconds(of *thread) map[string]float64 {
	i.t.Helper()
	var said struct {
		WeightType        string
		CategoryBreakdown struct {
			Categories []struct {
				Name          string
				Samples       float64
				Subcategories []struct {
					Name    string
					Samples float64
				}
			}
		}
	}
	i.query(&said, "thread", "samples", "--include-idle", "--thread", "t-"+strconv.Itoa(of.ThreadIndex))
	if said.WeightType != "tracing-ms" {
		i.t.Fatalf("weights are %s", said.WeightType)
	}
	sums := make(map[string]float64)
	for _, c := range said.CategoryBreakdown.Categories {
		sums[c.Name] = c.Samples
		for _, sub := range c.Subcategories {
			sums[c.Name+"/"+sub.Name] = sub.Samples
		}
	}
	return sums
}

// marker is a marker as the importer has it.
type marker struct {
	Name, Label, MarkerType string
	Start, Duration         float64
	HasStack                bool
	Fields                  []struct {
		Label, FormattedValue string
		Value                 any
	}
}

func (i *importer) markers(of *thread) []marker {
	i.t.Helper()
	var said struct{ FlatMarkers []marker }
	i.query(&said, "thread", "markers", "--list", "--limit", "0", "--thread", "t-"+strconv.Itoa(of.ThreadIndex))
	return said.FlatMarkers
}
