//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

const pythonExamples = "../../docs/python-examples.md"

// The commands of the page work, and their answers are those that the page reads from the pictures.
func TestPythonExamplesHaveTheirAnswers(t *testing.T) {
	tools.NeedPrivilege(t)
	page, err := os.ReadFile(pythonExamples)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PORT", freePort(t))
	server := exec.Command("python3", "../../docs/tutorial/prices.py")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	time.Sleep(time.Second)
	dir := t.TempDir()
	clients := regexp.MustCompile(`python3 docs/tutorial/ask\.py ([0-9]+) `)
	t.Setenv("PYTHONPATH", absolute(t, "../../build/sql")) // has pandas, if it was fetched
	hasPandas := exec.Command("python3", "-c", "import pandas").Run() == nil
	var asking *exec.Cmd
	for line := range strings.Lines(string(page)) {
		if m := clients.FindStringSubmatch(line); m != nil {
			asking = ask(t, asking, m[1])
		}
		for _, command := range commands(line) {
			if strings.Contains(command, "sales") && !hasPandas {
				continue
			}
			command = strings.ReplaceAll(strings.ReplaceAll(command, "1234", strconv.Itoa(server.Process.Pid)), "docs/", absolute(t, "../../docs")+"/")
			try(t, dir, strings.ReplaceAll(command, "-d5s", "-d1500000us"))
		}
	}
	ask(t, asking, "")
	if share := functionShares(t, filepath.Join(dir, "one.wprof"))["prices.in_stock"]; share < 0.8 {
		t.Errorf("prices.in_stock has %.0f%% of the CPU time, not most of it", 100*share)
	}
	if found := findingsOf(t, filepath.Join(dir, "four.wprof")); !slices.Contains(found, "one-lock") {
		t.Errorf("the findings of four.wprof are %q, without one-lock", found)
	}
	if !hasPandas {
		return
	}
	if shares := functionShares(t, filepath.Join(dir, "sales.wprof")); shares["sales.add_totals"] < 0.5 || shares["sales.by_day"] > 0.2 {
		t.Errorf("sales.add_totals has %.0f%% of the CPU time and sales.by_day %.0f%%, not most and little of it", 100*shares["sales.add_totals"], 100*shares["sales.by_day"])
	}
}

// ask lets the clients end that ask the server, and starts others; "": none.
func ask(t *testing.T, before *exec.Cmd, clients string) *exec.Cmd {
	t.Helper()
	if before != nil {
		_ = before.Process.Kill()
		_ = before.Wait()
	}
	if clients == "" {
		return nil
	}
	cmd := exec.Command("python3", "../../docs/tutorial/ask.py", clients, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	time.Sleep(time.Second)
	return cmd
}

// findingsOf are the kinds of the findings in a capture.
func findingsOf(t *testing.T, capture string) (kinds []string) {
	t.Helper()
	var report struct{ Findings []struct{ Kind string } }
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--report", "--json", capture), &report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// functionShares are the shares of the CPU time in which functions of a capture are in the stack.
func functionShares(t *testing.T, capture string) map[string]float64 {
	t.Helper()
	shares, total := map[string]float64{}, 0.0
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--on-cpu", "--by", "none", "-e", "py-stacks-only", capture))) {
		at := strings.LastIndexByte(line, ' ')
		weight, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		total += weight
		functions := strings.Split(strings.TrimSuffix(line[:at], "_[c]"), ";")
		slices.Sort(functions)
		for _, function := range slices.Compact(functions) {
			shares[function] += weight
		}
	}
	for function := range shares {
		shares[function] /= total
	}
	return shares
}
