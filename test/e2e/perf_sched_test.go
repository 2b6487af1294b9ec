//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// schedEvent is a switch from one thread to the next, with the state in which the first leaves, or a waking of one by another.
type schedEvent struct {
	at       int64
	from, to int
	state    string
}

// is reports whether perf's event is the same one. perf writes -1 for a waker that has given up its id to die. It is called
// before the recorder's program: in between a thread that leaves as a zombie may be reaped on another CPU.
func (e schedEvent) is(perf schedEvent) bool {
	return (e.from == perf.from || perf.from == -1) && e.to == perf.to && (e.state == perf.state || e.state == "X" && perf.state == "Z")
}

// schedList is what one CPU did, in order of time.
type schedList struct {
	what string
	cpu  uint32
}

type schedLists map[schedList][]schedEvent

func (s schedLists) add(what string, cpu uint32, e schedEvent) {
	s[schedList{what, cpu}] = append(s[schedList{what, cpu}], e)
}

// perf sched records around the recorder. On each CPU both have the same threads in the same order, leaving in the same
// states, and the same wakings.
func TestSwitchesAndWakingsAgreeWithPerf(t *testing.T) {
	tools.NeedPrivilege(t)
	for range 3 {
		dir := t.TempDir()
		data, file := filepath.Join(dir, "perf.data"), filepath.Join(dir, "host.wprof")
		// Waits for a CPU within the kernel and on the way back to user mode, sleeps, children that end as zombies.
		const work = `"$0" preempted & "$0" pingpong & for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; wait`
		// Once another program has requested build-ids of mappings, the kernel marks perf's records of mappings as if they had
		// them too, and perf script crashes unless perf requests them itself.
		cmd := exec.Command("perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "4096", "-N", "--buildid-mmap", "-o", data, "--",
			tools.Path("wprof-record"), "-a", "-S+waker", "--no-user-stacks", "-o", file, "--", "sh", "-c", work, tools.Path("workload"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("perf sched record: %v: %s", err, out)
		}
		ours, lost := ourScheduling(t, file)
		if lost {
			t.Log("the recorder has lost events")
			continue
		}
		perf, cut := perfScheduling(t, data)
		agreed := compareScheduling(t, ours, perf, cut)
		t.Logf("agreed on %v", agreed)
		if agreed["S"] >= 1000 && agreed["R"] >= 10 && agreed["R+"] >= 1 && agreed["Z"] >= 5 && agreed["waking"] >= 1000 || t.Failed() {
			return
		}
	}
	t.Error("too little was compared: perf or the recorder has lost events three times")
}

// ourScheduling are the switches and wakings of a capture that perf can have as well.
func ourScheduling(t *testing.T, file string) (lists schedLists, lost bool) {
	t.Helper()
	lists = schedLists{}
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		tid := func(id format.TaskID) int {
			if task := r.Task(id); task != nil && task.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) == 0 {
				return int(task.Tid)
			}
			return 0
		}
		switch e.Kind {
		case format.KindLost:
			lost = true
		case format.KindSwitch:
			v := e.Switch()
			lists.add("switch", e.CPU, schedEvent{e.Time, tid(e.Task), tid(v.Next()), kernelLetter(v)})
		case format.KindWaking:
			if v := e.Waking(); !byPerfEvent(r, v) {
				lists.add("waking", e.CPU, schedEvent{e.Time, tid(e.Task), tid(v.Wakee()), ""})
			}
		}
	})
	return lists, lost
}

// byPerfEvent reports whether a perf event wakes its reader: perf itself, or a recorder's thread that watches mappings. The
// kernel's perf_pending_irq takes perf's recursion context before it does that, so no perf event records such a waking.
func byPerfEvent(r *format.Reader, v format.WakingEvent) bool {
	id, _ := v.Stack()
	for _, frame := range r.Stack(id).GetFrames() {
		for _, line := range r.Frame(frame).GetLines() {
			if string(line.Function) == "perf_pending_irq" {
				return true
			}
		}
	}
	return false
}

// kernelLetter is the state of a switch as the kernel's own tracepoint prints it.
func kernelLetter(v format.SwitchEvent) string {
	letters := (v.PrevState() &^ format.StateIOWait).String()
	switch {
	case letters == "R+" && v.Called():
		return "R"
	case letters == "DK", letters == "F", letters == "L":
		return "D"
	}
	return letters
}

// perfLine is an event of any kind, with more fields of the two that are compared and of the count of lost events.
var perfLine = regexp.MustCompile(`^ *(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +(?:` +
	`sched:sched_switch: .* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> .* next_pid=(\d+) next_prio=` +
	`|sched:sched_waking: .* pid=(\d+) prio=` +
	`|(PERF_RECORD_LOST)` +
	`|sched:sched_(?:stat_runtime|migrate_task|process_fork|wakeup_new):)`)

// perfScheduling are the switches and wakings of each CPU up to the first that perf has lost; cut has the time of the last one
// of such a CPU.
func perfScheduling(t *testing.T, data string) (lists schedLists, cut map[uint32]int64) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command("perf", "script", "-i", data, "--ns", "--show-lost-events", "-F", "tid,cpu,time,event,trace")
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf script: %v: %s", err, said.Bytes())
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	lists, cut = schedLists{}, map[uint32]int64{}
	last := map[uint32]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := perfLine.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("perf script printed %q", lines.Text())
		}
		cpu := uint32(number(m[2]))
		e := schedEvent{at: int64(number(m[3]))*int64(time.Second) + int64(number(m[4]))}
		switch {
		case cut[cpu] != 0:
		case m[5] != "":
			e.from, e.to, e.state = number(m[5]), number(m[7]), m[6]
			lists.add("switch", cpu, e)
		case m[8] != "":
			e.from, e.to = number(m[1]), number(m[8])
			lists.add("waking", cpu, e)
		case m[9] != "":
			cut[cpu] = max(last[cpu], 1)
		}
		last[cpu] = e.at
	}
	for cpu := range cut {
		t.Logf("perf has lost events of CPU %d", cpu)
	}
	return lists, cut
}

// compareScheduling counts what is the same, by state. perf begins before the recorder and ends after it. On each CPU the kernel
// calls perf before the recorder's program, both with interrupts off, and both read the same clock: perf's record of an event is
// the last one that is not later.
func compareScheduling(t *testing.T, ours, perfs schedLists, cut map[uint32]int64) (agreed map[string]int) {
	t.Helper()
	agreed = map[string]int{}
	for list, events := range ours {
		if at := cut[list.cpu]; at != 0 {
			events = slices.DeleteFunc(events, func(e schedEvent) bool { return e.at > at-int64(10*time.Millisecond) })
		}
		holes := holesOf(perfs[schedList{"switch", list.cpu}])
		perf, lacking, differing := perfs[list], 0, 0
		for i, e := range events {
			same := sort.Search(len(perf), func(k int) bool { return perf[k].at > e.at })
			if i > 0 && same > 1 {
				t.Errorf("CPU %d: the recorder lacks %d events of kind %s before %+v, the first %+v", list.cpu, same-1, list.what, e, perf[0])
				differing++
			}
			switch {
			case same > 0 && e.is(perf[same-1]):
				agreed[cmp.Or(e.state, list.what)]++
			case same > 0 && i > 0:
				t.Errorf("CPU %d, %s %d: %+v; perf has %+v", list.cpu, list.what, i, e, perf[same-1])
				differing++
			case slices.ContainsFunc(holes, func(h hole) bool { return h.from <= e.at && e.at <= h.to }):
				lacking++
			default:
				t.Errorf("CPU %d: perf lacks %s %d, %+v", list.cpu, list.what, i, e)
				differing++
			}
			if differing >= 5 {
				break
			}
			perf = perf[same:]
		}
		if lacking > 0 {
			t.Logf("CPU %d: perf lacks %d of %d events of kind %s, and reports no loss", list.cpu, lacking, len(events), list.what)
		}
	}
	return agreed
}

// hole is where perf lacks switches.
type hole struct{ from, to int64 }

// holesOf are the places where a thread leaves a CPU to which none had switched. perf and ftrace may lack what an idle thread
// does until it leaves, and count no loss: one event in some 15,000, or on one CPU all of them, until the next boot. The recorder's
// time of an event is later than perf's, which is called first.
func holesOf(switches []schedEvent) (holes []hole) {
	for i := 1; i < len(switches); i++ {
		if switches[i-1].to != switches[i].from {
			holes = append(holes, hole{switches[i-1].at, switches[i].at + int64(time.Millisecond)})
		}
	}
	return holes
}
