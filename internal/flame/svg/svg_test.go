package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// sketch makes graphs that resemble real programs, the same for the same seed.
type sketch struct {
	*graph.Builder
	rnd *rand.Rand
}

func newSketch(seed uint64) *sketch {
	return &sketch{graph.NewBuilder(graph.View{}, &profile.Profile{}), rand.New(rand.NewPCG(seed, 0))}
}

func (b *sketch) add(w graph.Weight, steps ...graph.Step) { b.AddPath(0, steps, graph.MarkNone, w) }

// thread adds one that is on the CPU for a share of its time in many places, and waits in few.
func (b *sketch) thread(root string, stacks int, ns int64, share float64) {
	start := []graph.Step{{Name: root, Kind: graph.KindRoot}, {Name: "_start", Module: "/usr/bin/server"}, {Name: "main", Module: "/usr/bin/server"}}
	for range stacks {
		path := append([]graph.Step{}, start...)
		for depth := 3 + b.rnd.IntN(14); depth > 0; depth-- {
			path = append(path, graph.Step{Name: fmt.Sprintf("work::%s_%d(Request const&)", root[:1], b.rnd.IntN(3+len(path))), Module: "/usr/bin/server"})
		}
		if b.rnd.IntN(3) == 0 {
			for _, name := range []string{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_read", "vfs_read"}[:1+b.rnd.IntN(4)] {
				path = append(path, graph.Step{Name: name, Kind: graph.KindKernel, Module: "[kernel]"})
			}
		}
		b.add(graph.Weight{On: int64(float64(ns) * share / float64(stacks) * 2 * b.rnd.Float64()), Count: uint64(b.rnd.IntN(20))}, path...)
	}
	for _, wait := range []string{"epoll_wait", "pthread_cond_wait", "read", "fsync"} {
		path := append(append([]graph.Step{}, start...), graph.Step{Name: "work::wait", Module: "/usr/bin/server"}, graph.Step{Name: wait, Module: "/usr/lib/libc.so.6"},
			graph.Step{Name: "do_syscall_64", Kind: graph.KindKernel, Module: "[kernel]"}, graph.Step{Name: "schedule", Kind: graph.KindKernel, Module: "[kernel]"})
		if wait == "epoll_wait" {
			path = append(path, graph.Step{Name: "[idle]", Kind: graph.KindNote})
		}
		b.add(graph.Weight{Off: int64(float64(ns) * (1 - share) / 2 * b.rnd.Float64()), Count: uint64(b.rnd.IntN(1000))}, path...)
	}
}

func (b *sketch) done() *graph.Graph {
	return b.End()
}

var usualPicture = Picture{
	Title: "Wall-clock time · nginx-1234 · web1",
	Subtitle: "30 s from 2026-03-04 04:06:07 UTC · 99 Hz timer, 12,345 samples · off-CPU stacks: blocks of 1 ms and more · " +
		"1 event lost · 3.2% of user stacks cut",
}

func svgOf(t testing.TB, g *graph.Graph, pic Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, g, pic); err != nil {
		t.Fatal(err)
	}
	for x := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := x.Token(); err == io.EOF {
			return b.Bytes()
		} else if err != nil {
			t.Fatalf("the file is no XML: %v", err)
		}
	}
}

// TestSVGShowsOneFrameOfAFunction: it may have called others, run itself and been blocked itself.
func TestSVGShowsOneFrameOfAFunction(t *testing.T) {
	b := graph.NewBuilder(graph.View{}, &profile.Profile{})
	f, k := graph.Step{Name: "f", Module: "m"}, graph.Step{Name: "f", Kind: graph.KindKernel}
	b.AddPath(0, []graph.Step{f, k}, graph.MarkOff, graph.Weight{Off: 1})
	b.AddPath(0, []graph.Step{f}, graph.MarkOn, graph.Weight{On: 10})
	b.AddPath(0, []graph.Step{f}, graph.MarkOff, graph.Weight{Off: 100})
	b.AddPath(0, []graph.Step{k}, graph.MarkOn, graph.Weight{On: 1000})
	g := b.End()
	var got []string
	for _, s := range simplified(g, 10) {
		got = append(got, fmt.Sprintf("%d: %d of %d on, %d of %d off", s.depth, s.self.On, s.own.On, s.self.Off, s.own.Off))
	}
	want := []string{
		"0: 0 of 1010 on, 0 of 101 off", "1: 10 of 10 on, 100 of 101 off", "2: 0 of 0 on, 1 of 1 off", "1: 1000 of 1000 on, 0 of 0 off",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSVGOfNothing(t *testing.T) {
	g := graph.NewBuilder(graph.View{}, &profile.Profile{}).End()
	if file := svgOf(t, g, Picture{}); !bytes.Contains(file, []byte("<svg")) {
		t.Errorf("got %s", file)
	}
}

// sketchOfThreads has threads that are on the CPU for more and more of their time.
func sketchOfThreads(threads int) *graph.Graph {
	s := newSketch(2)
	for i := range threads {
		s.thread(fmt.Sprintf("worker%d-1/%d", i, i+2), 40, 30e9, float64(i)/float64(2*threads))
	}
	return s.done()
}

// sketchOfChanges is a program that waits less than before, does something new, and no longer something else.
func sketchOfChanges() *graph.Graph {
	now, before := newSketch(1), newSketch(1)
	now.thread("main-1/1", 300, 30e9, 0.4)
	before.thread("main-1/1", 330, 40e9, 0.2)
	now.add(graph.Weight{On: 3e9}, graph.Step{Name: "main-1/1", Kind: graph.KindRoot}, graph.Step{Name: "only_now"})
	before.add(graph.Weight{On: 8e9}, graph.Step{Name: "main-1/1", Kind: graph.KindRoot}, graph.Step{Name: "only_before"}, graph.Step{Name: "far", Kind: graph.KindKernel})
	return flametest.Compared(now.done(), before.done(), 0.75)
}
