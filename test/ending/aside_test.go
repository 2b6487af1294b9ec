//go:build linux

package ending

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// TestOldSpoolsAreNeverMixedIn records beside what killed recorders have left, and recovers all of it.
func TestOldSpoolsAreNeverMixedIn(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps := stamps(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	var windows [][2]int64
	for range 2 {
		r := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
		time.Sleep(800 * time.Millisecond)
		must(t, r.Cmd.Process.Kill())
		r.Wait()
	}
	r := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
	if said := r.Stderr.String(); !strings.Contains(said, "an older spool was moved to "+file+".part.2; wprof-symbolize finishes it") {
		t.Errorf("it says %q", said)
	}
	time.Sleep(300 * time.Millisecond)
	if got := r.Stop(); got != 0 {
		t.Errorf("status %d: %s", got, r.Stderr.String())
	}
	if left := names(t, dir); !slices.Equal(left, []string{"x.wprof", "x.wprof.part.1", "x.wprof.part.2"}) {
		t.Fatalf("the folder holds %v", left)
	}
	for n := 1; n <= 2; n++ {
		if r := tools.Try(t, time.Minute, nil, "wprof-symbolize", "--no-lines", fmt.Sprintf("%s.part.%d", file, n), "-o", fmt.Sprintf("%s.%d", file, n)); r.Status != 4 {
			t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
		}
	}
	for _, name := range []string{file + ".1", file + ".2", file} {
		s := whole(t, name)
		if n := s.compare(t, readStamps(t, stamps)); n < 10 && len(s.lost) == 0 {
			t.Errorf("%s: %d departures could be compared", name, n)
		}
		if len(windows) > 0 && s.open <= windows[len(windows)-1][1] {
			t.Errorf("%s begins before the recording before it ends", name)
		}
		windows = append(windows, [2]int64{s.open, s.close})
	}
}

// TestKilledFlightRecordersLeaveOneSpool starts one again and again in a folder with limits, as a service does.
func TestKilledFlightRecordersLeaveOneSpool(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	for keep, spools := range map[string]int{"": 2, ",5": 1} {
		dir := t.TempDir()
		for range 2 {
			r := tools.Start(t, "-F1s", "--no-stacks", "--keep", dir+keep)
			must(t, r.Cmd.Process.Kill())
			r.Wait()
		}
		r := tools.Start(t, "-F1s", "--no-stacks", "--keep", dir+keep)
		if got := r.Stop(); got != 0 {
			t.Errorf("status %d: %s", got, r.Stderr.String())
		}
		left := names(t, dir)
		if len(left) != 1+spools || !strings.HasSuffix(left[spools], ".wprof.part.2") {
			t.Errorf("--keep FOLDER%s: the folder holds %v", keep, left)
		}
	}
}

// TestManyRecordersOfOneOutput starts them at the same moment: one records, the others are refused, and what a killed one had left
// is moved aside once.
func TestManyRecordersOfOneOutput(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	old := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
	must(t, old.Cmd.Process.Kill())
	old.Wait()
	const recorders = 4
	commands, said := make([]*exec.Cmd, recorders), make([]tools.Buffer, recorders)
	for i := range commands {
		commands[i] = exec.Command(tools.Path("wprof-record"), "-d3s", "--no-stacks", "-o", file)
		commands[i].Stderr = &said[i]
		must(t, commands[i].Start())
	}
	done := 0
	for i, cmd := range commands {
		_ = cmd.Wait()
		switch text := said[i].String(); tools.Status(cmd.ProcessState) {
		case 0:
			done++
		case 1:
			oneSentence(t, text, "wprof-record", "create the spool "+file+".part: another wprof-record is writing it; choose another output")
		default:
			t.Errorf("status %d: %s", tools.Status(cmd.ProcessState), text)
		}
	}
	// A recorder that starts when another one has ended is no second one.
	if done < 1 {
		t.Errorf("%d of %d recorders have recorded", done, recorders)
	}
	if left := names(t, dir); !slices.Equal(left, []string{"x.wprof", "x.wprof.part.1"}) {
		t.Errorf("the folder holds %v", left)
	}
	whole(t, file)
}

// TestRecordersSideBySide: each has everything.
func TestRecordersSideBySide(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps := stamps(t)
	dir := t.TempDir()
	var all []*tools.Recorder
	for n := range 3 {
		all = append(all, tools.Start(t, "-d60s", "--no-stacks", "-o", filepath.Join(dir, fmt.Sprint(n))))
	}
	time.Sleep(500 * time.Millisecond)
	for n, r := range all {
		if got := r.Stop(); got != 0 {
			t.Errorf("recorder %d: status %d: %s", n, got, r.Stderr.String())
		}
		s := whole(t, filepath.Join(dir, fmt.Sprint(n)))
		if compared := s.compare(t, readStamps(t, stamps)); compared < 100 && len(s.lost) == 0 {
			t.Errorf("recorder %d: %d departures could be compared", n, compared)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("the folder holds %v", left)
	}
}
