//go:build linux

package report

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/test/tools"
)

// scenario is one of testdata/main.c.
type scenario struct {
	name    string
	finding string // the kind of the first finding; "": there is none
	alone   bool   // the finding is about all processes of the capture

	pid     int
	threads []*thread // what they did, as the program measured it
	capture *capture
}

// recordings are the scenarios by recording: those that need little CPU time run at the same time.
func recordings() [][]*scenario {
	return [][]*scenario{
		{
			{name: "deadlock-two", finding: "deadlock"}, {name: "deadlock-three", finding: "deadlock"}, {name: "victim", finding: "one-lock"},
			{name: "sleeping-owner", finding: "one-lock"}, {name: "sleeping", finding: "sleeping-by-timer"}, {name: "peer", finding: "waiting-for-peer"},
			{name: "healthy-server"}, {name: "healthy-pool"}, {name: "healthy-timer"},
			{name: "idle-pool"}, {name: "idle-conns"}, {name: "idle-timers"},
		},
		{{name: "one-lock", finding: "one-lock"}, {name: "full-queue", finding: "full-queue"}},
		{{name: "single-threaded", finding: "single-threaded"}, {name: "page-faults", finding: "page-faults"}},
		{{name: "migrations", finding: "migrations"}, {name: "disk-bound", finding: "disk-bound"}},
		{{name: "small-reads", finding: "disk-bound"}},
		{{name: "cpu-starved", finding: "cpu-starved"}},
		{{name: "wakeups", finding: "too-many-wakeups"}},
		{{name: "short-lived", finding: "short-lived-processes", alone: true}},
	}
}

// record runs scenarios at the same time and records them for 1.5 s.
func record(t *testing.T, all []*scenario) {
	t.Helper()
	args := []string{"--children"}
	running := make([]*tools.Workload, len(all))
	for i, s := range all {
		running[i] = tools.StartWorkload(t, exec.Command(tools.Path("scenario"), s.name))
		running[i].Until("ready")
		s.pid = running[i].PID()
		args = append(args, "-p", running[i].PIDText())
	}
	time.Sleep(100 * time.Millisecond)
	file := tools.Record(t, filepath.Join(t.TempDir(), all[0].name+".wprof"), args, func() {
		for _, s := range all {
			defer tools.Prefer(t, s.pid)()
		}
		time.Sleep(1500 * time.Millisecond)
	})
	for i, s := range all {
		running[i].Send("\n")
		s.threads = parseTruth(t, running[i].Until("end"))
	}
	c := readCapture(t, file)
	for _, s := range all {
		s.capture = c
	}
}

// TestScenarios records all scenarios once and compares what the tools say of them with what they measured.
func TestScenarios(t *testing.T) {
	tools.NeedPrivilege(t)
	var all []*scenario
	for _, some := range recordings() {
		record(t, some)
		all = append(all, some...)
	}
	for _, s := range all {
		t.Run(s.name+"/Waits", func(t *testing.T) { checkWaits(t, s) })
		if s.name == "small-reads" {
			t.Run(s.name+"/Short", func(t *testing.T) { checkShortReads(t, s) })
		}
		t.Run(s.name+"/Idle", func(t *testing.T) { checkIdle(t, s) })
		t.Run(s.name+"/Findings", func(t *testing.T) { checkFindings(t, s) })
		t.Run(s.name+"/Agreement", func(t *testing.T) { checkAgreement(t, s) })
	}
}
