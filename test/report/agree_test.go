//go:build linux

package report

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// checkAgreement compares the report of wprof-info with the analyses of wprof-flame: of a scenario's process, and of some of its threads
// each with its own file. Lists have the same lines, number for number. Folded stacks have the same time as idle.
func checkAgreement(t *testing.T, s *scenario) {
	pid, folder := strconv.Itoa(s.pid), filepath.Join(t.TempDir(), "threads")
	checkAnalysis(t, s, "-p", pid, tools.Run(t, "wprof-flame", "--analysis", "-p", pid, s.capture.file))
	idle, shown := int64(0), int64(0)
	for _, one := range report(t, "-p", pid, s.capture.file).Time {
		if one.Class == "idle" {
			idle = one.Ns
		}
	}
	for _, one := range foldedByThread(t, s) {
		shown += one.idle
	}
	if shown != idle {
		t.Errorf("folded stacks have %d ns as idle, the report %d ns", shown, idle)
	}
	tools.Run(t, "wprof-flame", "--per-thread", folder, "-p", pid, s.capture.file)
	for _, th := range s.threads[:min(len(s.threads), 4)] {
		tid := strconv.Itoa(int(th.tid))
		files, err := filepath.Glob(filepath.Join(folder, "thread_"+tid+"_*_analysis.txt"))
		if err != nil || len(files) != 1 {
			t.Errorf("thread %s has the files %v, %v", tid, files, err)
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		checkAnalysis(t, s, "--tid", tid, text)
	}
}

func checkAnalysis(t *testing.T, s *scenario, flag, id string, analysis []byte) {
	t.Helper()
	_, lists, _ := strings.Cut(string(tools.Run(t, "wprof-info", "--report", flag, id, s.capture.file)), "\n")
	if !strings.Contains(lists, "total:") || !strings.Contains(string(analysis), lists) {
		t.Errorf("%s %s: the report has\n%s\nwhich the analysis has not:\n%s", flag, id, lists, analysis)
	}
}
