package filter

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
)

// pingPong writes a capture of pairs of threads that wake each other, one process a pair and one pair a CPU: per
// round a waking, and two switches over the idle thread or directly.
func pingPong(b *testing.B, events, level int) string {
	path := filepath.Join(b.TempDir(), "bench.wprof")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := format.NewWriter(file, format.WriterOptions{Level: level})
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(w.Begin(&format.Session{Id: 1, BootId: "b", Open: 1000, Close: 1 << 40}))
	const cpus = 4
	check(w.DefineTask(&format.Task{Id: 1, Comm: []byte("swapper"), Flags: uint32(format.TaskFlag_TASK_FLAG_IDLE)}))
	for i := range uint32(2 * cpus) {
		check(w.DefineTask(&format.Task{Id: 2 + i, Tid: int32(100 + i), Pid: int32(100 + i&^1), Comm: []byte("pipe"), Start: 5}))
	}
	now := int64(1000)
	for i := 0; i < events; i++ {
		now += 400 + int64(i*7919%331)
		cpu := uint32(i % cpus)
		a, c := format.TaskID(2+2*cpu), format.TaskID(3+2*cpu)
		if i/cpus/2%2 == 1 {
			a, c = c, a
		}
		e := format.Event{Time: now, CPU: cpu, Task: a, Flags: format.FlagsVisible, Kind: format.KindWaking}
		if i/cpus%2 == 0 {
			e.Waking().SetWakee(c)
			e.Waking().SetPrio(120)
		} else {
			e.Kind = format.KindSwitch
			v := e.Switch()
			v.SetNext(c)
			v.SetPrevState(format.StateInterruptible)
			v.SetPrevPrio(120)
			v.SetNextPrio(120)
			v.SetSince(now - 3000)
			v.SetNextState(format.StateInterruptible)
		}
		check(w.Write(&e))
	}
	check(w.EndSection(&format.End{Close: now, Last: true}))
	return path
}

// profile writes a capture of samples of a hundred processes, each with fifty stacks of 30 frames.
func profile(b *testing.B, events int) string {
	path := filepath.Join(b.TempDir(), "bench.wprof")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := format.NewWriter(file, format.WriterOptions{})
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(w.Begin(&format.Session{Id: 1, BootId: "b", Open: 1000, Close: 1 << 40}))
	const processes, stacks, places = 100, 50, 200
	for p := range uint32(processes) {
		check(w.DefineTask(&format.Task{Id: p + 1, Tid: int32(100 + p), Pid: int32(100 + p), Comm: []byte("worker"), Start: 5}))
		check(w.DefineModule(&format.Module{Id: p + 1, Path: []byte("/usr/bin/worker"), Kind: uint32(format.ModuleKind_MODULE_FILE)}))
		for i := range uint32(places) {
			lines := []*format.Line{{Function: []byte("a_function_with_a_name_of_some_length")}}
			check(w.DefineFrame(&format.Frame{Id: p*places + i + 1, Module: p + 1, Offset: uint64(i) << 8, Caller: true, Lines: lines}))
		}
		for i := range uint32(stacks) {
			s := &format.Stack{Id: p*stacks + i + 1}
			for j := range uint32(30) {
				s.Frames = append(s.Frames, p*places+(i*7+j*j)%places+1)
			}
			check(w.DefineStack(s))
		}
	}
	for i := range events {
		p := uint32(i % processes)
		e := format.Event{Time: 1000 + int64(i)*100, Kind: format.KindSample, Flags: format.FlagSubject, CPU: uint32(i % 4), Task: format.TaskID(p + 1)}
		e.Sample().SetStack(format.StackID(p*stacks + uint32(i/processes%stacks) + 1))
		e.Sample().SetSource(1)
		check(w.Write(&e))
	}
	check(w.EndSection(&format.End{Close: 1 << 40, Last: true}))
	return path
}

func BenchmarkSamples(b *testing.B) {
	const events = 2_000_000
	path := profile(b, events)
	b.Run("one process of a hundred", func(b *testing.B) { benchmarkPath(b, path, events, Options{Threads: Spec{PIDs: []int32{107}}}) })
	b.Run("everything", func(b *testing.B) { benchmarkPath(b, path, events, Options{}) })
}

func benchmarkFilter(b *testing.B, level int, o Options) {
	const events = 2_000_000
	benchmarkPath(b, pingPong(b, events, level), events, o)
}

func benchmarkPath(b *testing.B, path string, events int, o Options) {
	b.ReportAllocs()
	for b.Loop() {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f, err := New(file, io.Discard, false, o)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Run(); err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
	perEvent := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(events)
	b.ReportMetric(perEvent, "ns/event")
	b.ReportMetric(1000/perEvent, "M-events/s")
}

func BenchmarkFilter(b *testing.B) {
	one := Options{Threads: Spec{PIDs: []int32{100}}}
	b.Run("one process of four", func(b *testing.B) { benchmarkFilter(b, 0, one) })
	b.Run("no process", func(b *testing.B) { benchmarkFilter(b, 0, Options{Threads: Spec{PIDs: []int32{7}}}) })
	b.Run("everything", func(b *testing.B) { benchmarkFilter(b, 0, Options{}) })
	b.Run("one process of four, zstd to zstd", func(b *testing.B) {
		one.Level = 1
		benchmarkFilter(b, 1, one)
	})
}
