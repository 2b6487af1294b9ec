//go:build linux

package loss

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"wprof/test/tools"
)

// workloadOf starts a program of testdata and returns when it waits.
func workloadOf(t *testing.T, name string, args ...any) *tools.Workload {
	t.Helper()
	w := tools.StartWorkload(t, exec.Command(tools.Path(name), strings.Fields(fmt.Sprintln(args...))...))
	w.Until("ready")
	return w
}

// player is what a thread of pingpong counted for itself.
type player struct {
	tid                   int32
	cpu                   uint32
	switches, voluntary   int64
	calls, renames, forks int64
	from, to              int64 // CLOCK_MONOTONIC ns
}

func players(t *testing.T, lines []string) []player {
	t.Helper()
	all := make([]player, len(lines))
	for i, line := range lines {
		p := &all[i]
		if _, err := fmt.Sscan(line, &p.tid, &p.cpu, &p.switches, &p.voluntary, &p.calls, &p.renames, &p.forks, &p.from, &p.to); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return all
}
