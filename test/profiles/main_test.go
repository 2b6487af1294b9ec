//go:build linux

package profiles

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	flags := []string{"-g", "-fno-omit-frame-pointer", "-pthread"}
	tools.Main(m,
		tools.C{Name: "rooms", Source: "testdata/rooms.c", Flags: append([]string{"-pie", "-fPIE"}, flags...)},
		tools.C{Name: "rooms-static", Source: "testdata/rooms.c", Flags: append([]string{"-static", "-no-pie", "-fno-pie"}, flags...)})
}

// room is what a thread of the workload measured: how often and how long it was in its room, how long it was on the CPU,
// and how long it was there, ns.
type room struct {
	tid                     string
	times, in, cpu, present int64
}

// shared is the recording of the workload for the tests that compare what tools show of the same capture.
var shared struct {
	once    sync.Once
	capture string
	rooms   map[string]room
}

// recorded returns the shared recording, and what the workload said.
func recorded(t *testing.T) (capture string, rooms map[string]room) {
	t.Helper()
	shared.once.Do(func() { shared.capture, shared.rooms, _ = recordIn(t, tools.Folder(), "rooms") })
	if shared.capture == "" {
		t.Fatal("the recording that this test looks at failed")
	}
	return shared.capture, shared.rooms
}

func record(t *testing.T, program string) (capture string, rooms map[string]room, taken int64) {
	t.Helper()
	return recordIn(t, t.TempDir(), program)
}

// recordIn records the workload and returns the capture, what the workload said, and what interrupts and the hypervisor took
// meanwhile, ns.
func recordIn(t *testing.T, dir, program string) (capture string, rooms map[string]room, taken int64) {
	t.Helper()
	tools.NeedPrivilege(t)
	capture = filepath.Join(dir, program+".wprof")
	before := tools.TakenNow(t)
	cmd := exec.Command(tools.Path("wprof-record"), "-S+timer=997hz", "--offcpu-min", "0", "-o", capture, "--", tools.Path(program))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer late.Stop()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, stderr.String())
	}
	rooms = make(map[string]room)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) != 6 {
			t.Fatalf("the workload printed %q", line)
		}
		var n [4]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(words[2+i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		rooms[words[0]] = room{words[1], n[0], n[1], n[2], n[3]}
	}
	if len(rooms) != 3 {
		t.Fatalf("the workload printed %q", out)
	}
	return capture, rooms, tools.TakenNow(t) - before
}

// threeTimes passes if one of three runs does: that a thread waits for its CPU just between two readings of the clock does not
// happen three times.
func threeTimes(t *testing.T, run func() (wrong []string)) {
	t.Helper()
	var wrong []string
	for range 3 {
		if wrong = run(); len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}
