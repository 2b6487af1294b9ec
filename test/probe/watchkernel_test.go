//go:build linux

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"wprof/test/tools"
)

// switches returns how often a thread has given up the CPU, as the kernel counts it.
func switches(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(string(regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s*(\d+)`).FindSubmatch(text)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// counterOf is where the kernel counts how often a thread has given up the CPU.
func counterOf(t *testing.T, w *tools.Workload) uint64 {
	t.Helper()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	var task *btf.Struct
	if err := types.TypeByName("task_struct", &task); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "task.wprof")
	tools.Record(t, file, []string{"-U", "raw_tp:sched_switch (arg:prev:ptr/name(task)) | id:task, if:prev.pid==" + w.PIDText() + " |"}, func() { do(w, "kernel") })
	events := read(t, file).of("task")
	if len(events) == 0 {
		t.Fatal("the process has never left a CPU")
	}
	address, err := strconv.ParseUint(strings.TrimPrefix(events[0].arg(t, "task"), "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range task.Members {
		if m.Name == "nvcsw" {
			return address + uint64(m.Offset.Bytes())
		}
	}
	t.Fatal("task_struct has no nvcsw")
	return 0
}

// Memory of the kernel, on whatever CPU it is written.
func TestWatchedKernelMemory(t *testing.T) {
	needBreakpoints(t)
	w := serve(t, tools.Path("watched"), "serve")
	w.WaitAsleep()
	at := counterOf(t, w)
	w.WaitAsleep()
	var before, after int64
	file := filepath.Join(t.TempDir(), "kernel.wprof")
	tools.Record(t, file, []string{"-U", fmt.Sprintf("watch:kernel:%#x:8 | id:nvcsw |", at)}, func() {
		before = switches(t, w.PID())
		for range 20 {
			do(w, "kernel")
			w.WaitAsleep()
		}
		after = switches(t, w.PID())
	})
	c := read(t, file)
	events := c.of("nvcsw")
	if int64(len(events)) != after-before || len(events) < 20 {
		t.Fatalf("%d events, and the kernel counted from %d to %d", len(events), before, after)
	}
	for i := range events {
		value := events[i].number(t, "value")
		if value != before+int64(i)+1 {
			t.Errorf("the value is %d, not %d", value, before+int64(i)+1)
		}
		want := strconv.FormatInt(value-1, 10)
		if i == 0 {
			want = "null" // what it was before the recording is not known
		}
		if got := events[i].arg(t, "before"); got != want {
			t.Errorf("before is %s, not %s", got, want)
		}
		if frames := c.stacks[events[i].StackID]; len(frames) == 0 || !strings.Contains(strings.Join(frames, " "), "schedule") || !strings.HasPrefix(events[i].arg(t, "ip"), "0xffff") ||
			runtime.GOARCH == "amd64" && !strings.HasPrefix(events[i].arg(t, "rsp"), "0xffff") {
			t.Errorf("ip %s, rsp %s, stack %v", events[i].arg(t, "ip"), events[i].arg(t, "rsp"), frames)
		}
	}
}
