//go:build linux

package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMayRecordFollowsTheFilter: MayRecord returns false for the processes that the kernel's filter leaves out, and no others.
func TestMayRecordFollowsTheFilter(t *testing.T) {
	sleeper := exec.Command("sleep", "100")
	must(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	pid, self := int32(sleeper.Process.Pid), int32(os.Getpid())
	waitFor(t, func() bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err == nil && string(name) == "sleep\n"
	})
	text, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	name := strings.TrimSpace(string(text))
	gone := exec.Command("true")
	must(t, gone.Run())
	for _, c := range []struct {
		name             string
		filter           Filter
		child, one, dead bool // what is expected of the child, of process 1, and of one that has ended
	}{
		{"no filter", Filter{}, true, true, true},
		{"process", Filter{PIDs: []int32{pid}}, true, false, false},
		{"other process", Filter{PIDs: []int32{1}}, false, true, false},
		{"not a process", Filter{NoPIDs: []int32{pid}}, false, true, true},
		{"thread", Filter{TIDs: []int32{pid}}, true, false, true},
		{"name", Filter{Names: []string{"sl?ep"}}, true, false, true},
		{"not a name", Filter{NoNames: []string{"sle*"}}, false, true, true},
		{"name of a thread", Filter{ThreadNames: []string{"none"}}, true, true, true},
		{"idle threads", Filter{Idle: true}, false, false, false},
		{"children", Filter{PIDs: []int32{self}, Children: true}, true, false, true},
		{"children by name", Filter{Names: []string{name}, Children: true}, true, false, true},
		{"process and name", Filter{PIDs: []int32{pid}, Names: []string{"other"}}, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tracer := mustLoad(t, Options{Filter: c.filter})
			for _, p := range []struct {
				name string
				pid  int
				want bool
			}{{"the child", int(pid), c.child}, {"process 1", 1, c.one}, {"one that has ended", gone.Process.Pid, c.dead}} {
				if got := tracer.MayRecord(uint32(p.pid)); got != p.want {
					t.Errorf("%s: got %v", p.name, got)
				}
			}
		})
	}
	tracer := mustLoad(t, Options{Follow: true})
	must(t, tracer.FollowChildrenOf(int(pid)))
	if !tracer.MayRecord(uint32(pid)) || tracer.MayRecord(1) {
		t.Error("of a command that is followed, the process is left out, or another one is not")
	}
}
