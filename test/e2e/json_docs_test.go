//go:build linux

package e2e

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// oneLiners are the commands of docs/json.md that pipe into jq, by what they answer.
func oneLiners(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	question := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		command, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && strings.Contains(command, "| jq "):
			all[question] = command
		case strings.HasSuffix(line, ":"):
			question = strings.TrimSuffix(line, ":")
		}
	}
	if len(all) < 8 {
		t.Fatalf("found %d one-liners: %q", len(all), all)
	}
	return all
}

// Each one-liner for jq runs and finds something in a capture that has something to find, and those that count count
// right.
func TestOneLinersForJq(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "host.wprof")
	thrice := filepath.Join(dir, "thrice")
	if err := exec.Command("cp", "/bin/true", thrice).Run(); err != nil {
		t.Fatal(err)
	}
	tools.Run(t, "wprof-record", "-o", file, "-a", "--", "bash", "-c",
		`for i in 1 2 3; do `+thrice+`; sleep 0.15; done; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done`)
	answers := map[string]string{}
	for question, command := range oneLiners(t) {
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 || len(out) == 0 {
			t.Errorf("%s\n%s\n%v: %d bytes, %s", question, command, err, len(out), stderr.String())
		}
		answers[question] = string(out)
	}
	var info struct {
		Recordings []struct {
			Lost  uint64 `json:"lost"`
			Kinds []struct {
				Kind   string `json:"kind"`
				Events int64  `json:"events"`
			} `json:"kinds"`
		} `json:"recordings"`
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &info); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int64{}
	for line := range strings.Lines(answers["How many events there are of each kind"]) {
		n, kind, _ := strings.Cut(strings.TrimSpace(line), "\t")
		counted[kind], _ = strconv.ParseInt(n, 10, 64)
	}
	for _, k := range info.Recordings[0].Kinds {
		name := map[string]string{"sample": "timer", "rename": "task_rename", "exit": "task_exit", "free": "task_free"}[k.Kind]
		if name == "" {
			name = k.Kind
		}
		if strings.HasPrefix(name, "state_") {
			continue
		}
		if counted[name] != k.Events {
			t.Errorf("%d events of kind %s, wprof-info says %d", counted[name], name, k.Events)
		}
	}
	var seconds map[string]float64
	if err := json.Unmarshal([]byte(answers["Seconds on the CPU of each thread: from its switches, the opening of the window and its end"]), &seconds); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, s := range seconds {
		sum += s
	}
	var header struct{ Dur float64 }
	first, _, _ := strings.Cut(string(tools.Run(t, "wprof-json", "-k", "lost", file)), "\n")
	if err := json.Unmarshal([]byte(first), &header); err != nil {
		t.Fatal(err)
	}
	if cpus := sum / header.Dur; math.Abs(cpus-math.Round(cpus)) > 1e-6 || cpus < 1 {
		t.Errorf("all threads together used %v CPUs: %v", cpus, seconds)
	}
	if runs := strings.Count(answers["What was run"], thrice+"\n"); runs != 3 {
		t.Errorf("%d runs, want 3:\n%s", runs, answers["What was run"])
	}
	if got := strings.TrimSpace(answers["Whether anything was lost"]); got != strconv.FormatUint(info.Recordings[0].Lost, 10) {
		t.Errorf("lost %s, want %d", got, info.Recordings[0].Lost)
	}
}
