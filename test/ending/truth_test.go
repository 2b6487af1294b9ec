//go:build linux

package ending

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// stamp is how often a thread had left its CPU at a time, by the kernel's own count.
type stamp struct{ At, Left int64 }

// stampLog mirrors struct log of testdata/stamps.c.
type stampLog struct {
	TID, Count int64
	Stamps     [20000]stamp
}

const stampThreads = 5

// stamps starts the workload, which goes on until the test ends or for a minute, and returns the file of its stamps.
func stamps(t testing.TB) (file string) {
	t.Helper()
	return stampsFor(t, time.Minute)
}

func stampsFor(t testing.TB, longest time.Duration) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "stamps")
	cmd := exec.Command(tools.Path("stamps"), file, fmt.Sprint(longest.Seconds()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	// So that no stamp is missing because the workload had not begun.
	for end := time.Now().Add(30 * time.Second); len(readStamps(t, file)) < stampThreads; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the workload does not begin")
		}
	}
	return file
}

// readStamps are the stamps so far, by tid.
func readStamps(t testing.TB, file string) map[int32][]stamp {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	all := map[int32][]stamp{}
	size := binary.Size(stampLog{})
	for ; len(raw) >= size; raw = raw[size:] {
		log := new(stampLog)
		if err := binary.Read(bytes.NewReader(raw[:size]), binary.LittleEndian, log); err != nil {
			t.Fatal(err)
		}
		if log.Count > 0 {
			all[int32(log.TID)] = log.Stamps[:log.Count]
		}
	}
	return all
}

// departures are the switches from threads in a stream.
type departures struct {
	open, close int64 // of the window; close is that of the last event where the stream has no end
	last        int64
	events      int
	left        map[int32][]int64
	lost        [][2]int64 // times in which switches may be missing
	holes       []int64    // the ends of losses that a damaged spool stands for
	cut         int64      // where the stream says that the recording ended early; 0: it does not
}

func readDepartures(t testing.TB, in io.Reader) *departures {
	t.Helper()
	s := &departures{left: map[int32][]int64{}}
	r := tools.Walk(t, in, func(r *format.Reader, e *format.Event) { s.add(t, r, e) }, func(r *format.Reader) { s.open = r.Session().Open })
	s.close = s.last
	if end := r.End(); end != nil {
		s.close = end.Close
	}
	for _, hole := range s.holes {
		if hole < s.close {
			t.Errorf("the spool lacks records %.3f s after the opening and %.3f s before the close", float64(hole-s.open)/1e9, float64(s.close-hole)/1e9)
		}
	}
	return s
}

func (s *departures) add(t testing.TB, r *format.Reader, e *format.Event) {
	if e.Time < s.last {
		t.Errorf("event of %d after one of %d", e.Time, s.last)
	}
	if e.Kind == format.KindLost {
		if e.Lost().Cause() == format.CauseDamage {
			return // where the stream was cut; nothing comes after it
		}
		if e.Lost().Cause() == format.CauseSpool {
			s.cut = e.Time
		}
		if e.Lost().From() == e.Time {
			return // nothing is missing before it
		}
		if what := e.Lost().What(); what == 0 || what == format.KindSwitch {
			s.lost = append(s.lost, [2]int64{e.Lost().From(), e.Time})
		}
		// After a record that was still being written in the last whole round, records may be missing up to the end of the loss.
		if e.Lost().Cause() == format.CauseSpool {
			s.holes = append(s.holes, e.Time)
		}
	}
	s.last = e.Time
	s.events++
	if e.Kind != format.KindSwitch || e.Flags&format.FlagSubject == 0 {
		return
	}
	at := e.Time
	if e.Flags&format.FlagLate != 0 {
		at = e.Own
	}
	if task := r.Task(e.Task); task != nil {
		s.left[task.Tid] = append(s.left[task.Tid], at)
	}
}

// compare compares the stream with what the kernel reported to the workload's threads: between two stamps that lie in
// the window, a thread has left its CPU as often as both say. It returns how many departures were compared.
func (s *departures) compare(t testing.TB, all map[int32][]stamp) (compared int) {
	t.Helper()
	for tid, stamps := range all {
		times := s.left[tid]
		slices.Sort(times)
		for i := 1; i < len(stamps); i++ {
			from, to := stamps[i-1], stamps[i]
			if from.At <= s.open || to.At > s.close || s.mayLack(from.At, to.At) {
				continue
			}
			got := int64(after(times, to.At) - after(times, from.At))
			if want := to.Left - from.Left; got != want {
				t.Errorf("thread %d left its CPU %d times between %d and %d, %.3f s after the opening and %.3f s before the close; the stream says %d times",
					tid, want, from.At, to.At, float64(from.At-s.open)/1e9, float64(s.close-to.At)/1e9, got)
				return compared
			}
			compared += int(got)
		}
	}
	return compared
}

// after is how many of the sorted times are not later than at.
func after(times []int64, at int64) int {
	n, _ := slices.BinarySearch(times, at+1)
	return n
}

func (s *departures) mayLack(from, to int64) bool {
	return slices.ContainsFunc(s.lost, func(l [2]int64) bool { return l[0] <= to && from <= l[1] })
}
