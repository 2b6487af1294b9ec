//go:build linux

package timeline

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/format"
)

// capture records this machine for a second while threads wake each other, sleep, are created and end.
func capture(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); os.Getuid() != 0 || err != nil {
		t.Skip("recording needs root and BTF")
	}
	dir := t.TempDir()
	recorder, file := filepath.Join(dir, "wprof-record"), filepath.Join(dir, "host.wprof")
	if out, err := exec.Command("go", "build", "-o", recorder, "wprof/cmd/wprof-record").CombinedOutput(); err != nil {
		t.Fatalf("build the recorder: %v: %s", err, out)
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(stop)
	}()
	out, err := exec.Command(recorder, "-d", "1s", "-o", file).CombinedOutput()
	close(stop)
	<-ended
	if err != nil {
		t.Fatalf("wprof-record: %v: %s", err, out)
	}
	return file
}

func work(stop chan struct{}) {
	ball := make(chan int)
	go func() {
		for range ball {
		}
	}()
	defer close(ball)
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = exec.Command("sh", "-c", "true | true; sleep 0.01").Run()
		for i := range 100 {
			ball <- i
		}
		for begun := time.Now(); time.Since(begun) < time.Millisecond; {
		}
	}
}

// eachEvent visits the events of a capture in the order of the stream; begin is called at each section.
func eachEvent(t *testing.T, file string, begin func(*format.Reader), visit func(*format.Event)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sections := 0
	for {
		e, err := r.Next()
		if r.Sections() != sections {
			sections = r.Sections()
			begin(r)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(e)
	}
}

// The spans of a real recording lie end to end, and each thread's time on the CPUs is what its switches add up to.
func TestSpansOfARealCaptureAddUp(t *testing.T) {
	file := capture(t)
	tiles, end := spansOf(t, file)
	tiles.check(t)
	truth := replay(t, file)
	kinds := map[SpanKind]int{}
	seen := map[Key]bool{}
	for thread, tile := range tiles.threads {
		seen[thread.Key] = true
		want := end
		if at, ended := truth.ended[thread.Key]; ended {
			want = at
		}
		if tile.first != max(tiles.open, thread.Start) || tile.last != want {
			t.Errorf("tid %d: spans from %d to %d, want from %d to %d", thread.TID, tile.first, tile.last, max(tiles.open, thread.Start), want)
		}
		var ran int64
		for _, span := range tile.spans {
			kinds[span.Kind]++
			if span.Kind == SpanRunning {
				ran += span.To - span.From
			}
			if span.Kind == SpanUnknown && !truth.lost && !truth.uncertain[thread.Key] {
				t.Errorf("tid %d: unknown [%d, %d] though nothing was lost", thread.TID, span.From, span.To)
			}
		}
		if ran != truth.ran[thread.Key] && !truth.lost && !truth.uncertain[thread.Key] {
			t.Errorf("tid %d: ran %d ns, want %d", thread.TID, ran, truth.ran[thread.Key])
		}
	}
	for key := range truth.ran {
		if !seen[key] {
			t.Errorf("tid %d ran and has no spans", key.TID)
		}
	}
	if len(truth.ran) < 10 || len(truth.uncertain)*5 > len(truth.ran) || kinds[SpanNew] == 0 || kinds[SpanRunnable] < 100 || kinds[SpanBlocked] < 100 {
		t.Errorf("%d threads ran, %d of them uncertain; spans by kind: %v", len(truth.ran), len(truth.uncertain), kinds)
	}
}

// spansOf are the spans of a capture and when its window closed.
func spansOf(t *testing.T, file string) (*tiles, int64) {
	var s *Spans
	var tiles *tiles
	var end int64
	eachEvent(t, file, func(r *format.Reader) {
		if s == nil {
			tiles = newTiles(r.Session().Open)
			s = NewSpans(r, func(span *Span) { tiles.add(span) })
			s.NewSection(r.Session())
			s.Open(r.Session().Open)
		} else {
			s.NewSection(r.Session())
		}
		end = r.Session().Close
	}, func(e *format.Event) { s.Apply(e) })
	s.Close(end)
	return tiles, end
}

// replayed is derived from the switches of a capture alone: a thread runs from the switch to it until the next one on its CPU.
type replayed struct {
	ran, ended map[Key]int64
	uncertain  map[Key]bool // threads of which a switch is missing without a reported loss
	lost       bool
}

type tenant struct {
	key  Key
	from int64
	idle bool
}

func replay(t *testing.T, file string) *replayed {
	x := &replayed{ran: map[Key]int64{}, ended: map[Key]int64{}, uncertain: map[Key]bool{}}
	cpus := map[uint32]tenant{}
	var r *format.Reader
	of := func(id format.TaskID, from int64) tenant {
		d := r.Task(id)
		return tenant{Key{d.Tid, d.Start}, from, d.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) != 0}
	}
	leave := func(cpu uint32, at int64) {
		if was := cpus[cpu]; !was.idle && was.key != (Key{}) {
			x.ran[was.key] += at - was.from
		}
	}
	eachEvent(t, file, func(now *format.Reader) { r = now }, func(e *format.Event) {
		switch e.Kind {
		case format.KindLost:
			x.lost = true
		case format.KindStateCPU:
			if _, known := cpus[e.CPU]; !known {
				cpus[e.CPU] = of(e.Task, e.Time)
			}
		case format.KindSwitch:
			prev := of(e.Task, 0)
			if was, known := cpus[e.CPU]; known && was.key != prev.key {
				x.uncertain[was.key], x.uncertain[prev.key] = true, true
			}
			leave(e.CPU, e.Time)
			cpus[e.CPU] = of(format.TaskID(e.Args[format.SwitchNext]), e.Time)
			if Ends(e.Switch().PrevState()) {
				x.ended[prev.key] = e.Time
			}
		}
	})
	for cpu := range cpus {
		leave(cpu, r.Session().Close)
	}
	return x
}
