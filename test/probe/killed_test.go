//go:build linux

package probe

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// startSleeper starts a program that is in a call for a minute.
func startSleeper(t *testing.T, path string) *os.Process {
	t.Helper()
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

// killIn kills a program. It stays a zombie.
func killIn(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that the program has ended", func() bool {
		thread, err := proc.ReadThread(uint32(p.Pid))
		return err == nil && thread.HasEnded()
	})
}

// exits returns when threads have ended, ns after the opening.
func exits(t *testing.T, file string) map[int]int64 {
	t.Helper()
	all := make(map[int]int64)
	for line := range bytes.Lines(tools.Run(t, "wprof-json", "--time", "ns", file)) {
		var e event
		if json.Unmarshal(line, &e) == nil && e.T == "task_exit" {
			all[e.Task.TID] = e.TS
		}
	}
	return all
}

// openSpans is how many open spans of a thread all recorders have in their tables.
func openSpans(t *testing.T, tid int) (n int) {
	t.Helper()
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		id = next
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			continue // it was another recorder's
		}
		if info, err := m.Info(); err == nil && info.Name == "probe_spans" {
			key, value := make([]byte, m.KeySize()), make([]byte, m.ValueSize())
			for all := m.Iterate(); all.Next(&key, &value); {
				if binary.NativeEndian.Uint64(key) == uint64(tid) {
					n++
				}
			}
		}
		m.Close()
	}
}

// A span ends when its thread does: in a capture before the recorder has noticed, and in one after that, when the kernel's table is free of it. That
// of a thread that lives stays.
func TestSpanOfAKilledThreadEndsWithIt(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := tools.DiskFolder(t)
	name := fmt.Sprintf("w%d-kill", os.Getpid())
	path := filepath.Join(dir, name)
	content, err := os.ReadFile("/bin/sleep")
	if err == nil {
		err = os.WriteFile(path, content, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := tools.Start(t, "-F1m", "--no-stacks", "-n", name, "-U", "uspan:nanosleep (path:libc.so.6) | id:req |", "-o", filepath.Join(dir, "x.wprof"))
	reaped, zombie, alive := startSleeper(t, path), startSleeper(t, path), startSleeper(t, path)
	all := []*os.Process{reaped, zombie, alive}
	eventually(t, "that all are in the call", func() bool {
		return openSpans(t, reaped.Pid) == 1 && openSpans(t, zombie.Pid) == 1 && openSpans(t, alive.Pid) == 1
	})
	killIn(t, reaped)
	_, _ = reaped.Wait()
	killIn(t, zombie)
	snapshot(t, r)
	eventually(t, "that the spans are removed", func() bool { return openSpans(t, reaped.Pid)+openSpans(t, zombie.Pid) == 0 })
	if openSpans(t, alive.Pid) != 1 {
		t.Error("the span of a thread that lives was removed")
	}
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	for _, file := range []string{"x.1.wprof", "x.wprof"} {
		file = filepath.Join(dir, file)
		tools.Run(t, "wprof-info", "--check", file)
		spans, ends := make(map[int][]event), exits(t, file)
		for _, e := range read(t, file).of("req") {
			spans[e.Task.TID] = append(spans[e.Task.TID], e)
		}
		for _, p := range all {
			of := spans[p.Pid]
			if len(of) != 1 || of[0].Open != "yes" {
				t.Errorf("%s: the spans of process %d are %+v", file, p.Pid, of)
				continue
			}
			want := of[0].TS // the close
			if p != alive {
				want = ends[p.Pid]
			}
			if end := of[0].Start + of[0].Dur; end != want {
				t.Errorf("%s: the span of process %d ends at %d, want %d", file, p.Pid, end, want)
			}
		}
	}
}

// snapshot takes the first snapshot.
func snapshot(t *testing.T, r *tools.Recorder) {
	t.Helper()
	if err := r.Cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that the snapshot is written", func() bool { return strings.Contains(r.Stderr.String(), ": snapshot ") })
}
