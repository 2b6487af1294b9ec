package chrome

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/textform"
	"wprof/internal/timeline/simulate"
	"wprof/internal/timeline/totals"
	"wprof/test/fromtext"
)

// On simulated machines, with and without losses: the slices of a row do not overlap, those of threads add up to the time that
// timeline reports, and each arrow begins at an instant and ends at the beginning of a slice.
func TestTracesOfMachinesAreSound(t *testing.T) {
	for seed := range uint64(40) {
		o := simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 4 + int(seed%9), Losses: seed%2 == 1, Epochs: seed%3 == 1, SilentRenames: seed%5 == 1}
		stream := simulate.Stream(t, o, 3000)
		tr, done, _ := written(t, stream, Options{})
		checkRows(t, tr)
		checkArrows(t, tr)
		if got, want := tr.running(t), totals.Of(t, stream).Running; got != want || done.Events == 0 {
			t.Errorf("seed %d: threads run for %d ns in %d events, want %d ns", seed, got, done.Events, want)
		}
		if t.Failed() {
			t.Fatalf("with %+v", o)
		}
	}
}

// running returns the sum of all threads' times on a CPU.
func (tr *trace) running(t testing.TB) (sum int64) {
	t.Helper()
	for _, e := range tr.TraceEvents {
		if e.Name == "Running" && e.Category == "thread" {
			sum += length(t, e.Duration)
		}
	}
	return sum
}

func checkRows(t testing.TB, tr *trace) {
	t.Helper()
	type slice struct {
		from, to int64
		name     string
	}
	rows := make(map[string][]slice)
	for _, e := range tr.TraceEvents {
		if e.Phase != "X" {
			continue
		}
		at := ns(t, e.Time)
		row := fmt.Sprintf("%d/%d", e.PID, e.TID)
		rows[row] = append(rows[row], slice{at, at + length(t, e.Duration), e.Name})
	}
	for row, all := range rows {
		slices.SortStableFunc(all, func(a, b slice) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
		for i := 1; i < len(all); i++ {
			if all[i].from < all[i-1].to {
				t.Errorf("row %s: %+v overlaps %+v", row, all[i-1], all[i])
			}
		}
	}
}

func checkArrows(t testing.TB, tr *trace) {
	t.Helper()
	type instant struct {
		category string
		tid      int64
		at       json.Number
	}
	began, instants := make(map[int64]bool), make(map[instant]int)
	for i, e := range tr.TraceEvents {
		at := instant{e.Category, e.TID, e.Time}
		switch e.Phase {
		case "i":
			instants[at]++
		case "s":
			if instants[at]--; instants[at] < 0 || began[e.ID] {
				t.Errorf("arrow %+v does not begin at an instant of its own", e)
			}
			began[e.ID] = true
		case "f":
			if !began[e.ID] || e.Binds != "e" {
				t.Errorf("arrow %+v ends and has not begun", e)
			}
			delete(began, e.ID)
			ends := slices.ContainsFunc(tr.TraceEvents[max(0, i-12):i], func(s event) bool {
				return s.Name == "Running" && s.TID == e.TID && ns(t, e.Time)-ns(t, s.Time) <= inset
			})
			if !ends {
				t.Errorf("arrow %+v does not end at a slice before it", e)
			}
		}
	}
	if len(began) > 0 {
		t.Errorf("%d arrows do not end", len(began))
	}
}

// One flipped byte anywhere, and an end anywhere, leave JSON.
func TestDamagedStreamsGiveJSON(t *testing.T) {
	stream := fromtext.Stream(t, machine+frames()+state+"+100500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=119 since=-100 next_state=S stack=1\nend close=+1000000\n")
	for at := range stream {
		flipped := bytes.Clone(stream)
		flipped[at] ^= 0x55
		for _, damaged := range [][]byte{flipped, stream[:at]} {
			if text, err := tryWrite(damaged); err == nil && !json.Valid(text) {
				t.Fatalf("byte %d: no JSON: %s", at, text)
			}
		}
	}
}

// tryWrite returns the trace of any bytes, a stream or not.
func tryWrite(stream []byte) ([]byte, error) {
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	_, _ = Write(r, &out, Options{Numa: true})
	return out.Bytes(), nil
}

// An error of the stream comes back when all before it has been written.
func TestStreamsThatCannotGoOnGiveAllBefore(t *testing.T) {
	first := fromtext.Stream(t, machine+state+"end close=+1000000\n")
	r, err := format.NewReader(io.MultiReader(bytes.NewReader(first), bytes.NewReader(first))) // a pipe: the error is found late
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	if _, err = Write(r, &out, Options{}); !errors.Is(err, format.ErrOverlap) {
		t.Errorf("two windows that overlap: %v, want that they do", err)
	}
	if got := parsed(t, out.Bytes()).running(t); got != 1_000_000 {
		t.Errorf("the trace has %d ns of running, want 1 ms", got)
	}
}

// FuzzWrite takes any bytes as a stream, as the text of one, and as names.
func FuzzWrite(f *testing.F) {
	f.Add(fromtext.Stream(f, machine+frames()+state+"end close=+1000000\n"))
	f.Add([]byte(machine + state + "end close=+1000000\n"))
	f.Add([]byte("\xff\"\\\x00\x1f\u2028"))
	f.Add(simulate.Stream(f, simulate.Options{Seed: 1, CPUs: 2, Threads: 4, Losses: true}, 200))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(stream []byte) {
			if text, err := tryWrite(stream); err == nil && !json.Valid(text) {
				t.Fatalf("no JSON: %s", text)
			}
		}
		check(b)
		var stream bytes.Buffer
		if err := textform.Undump(&stream, bytes.NewReader(b)); err == nil {
			check(stream.Bytes())
		}
		name := fmt.Sprintf("%q", b)
		stream.Reset()
		text := strings.NewReplacer("comm=pong", "comm="+name, "host=box", "host="+name, `function="main"`, "function="+name).Replace(machine + frames() + state)
		if err := textform.Undump(&stream, strings.NewReader(text+"+5 cpu0 exec 2 prev=2 filename="+name+"\nend close=+1000000\n")); err == nil {
			check(stream.Bytes())
		}
	})
}

// Memory does not grow with the length of a stream that has epochs.
func TestMemoryIsBounded(t *testing.T) {
	peak := func(steps int) int64 {
		stream := simulate.Stream(t, simulate.Options{Seed: 3, CPUs: 2, Threads: 20, Epochs: true}, steps)
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w := &watcher{}
		w.base = w.live()
		if _, err := Write(r, w, Options{}); err != nil {
			t.Fatal(err)
		}
		return w.peak
	}
	short, long := peak(50_000), peak(500_000)
	t.Logf("%d and %d KiB", short>>10, long>>10)
	if long > short+2<<20 {
		t.Errorf("a stream ten times as long takes %d KiB instead of %d", long>>10, short>>10)
	}
}

// watcher measures the memory in use every few writes.
type watcher struct {
	base, peak int64
	writes     int
}

func (w *watcher) live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (w *watcher) Write(b []byte) (int, error) {
	if w.writes++; w.writes%8 == 0 {
		w.peak = max(w.peak, w.live()-w.base)
	}
	return io.Discard.Write(b)
}
