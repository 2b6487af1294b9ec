package flame

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// sketch makes graphs of what programs look like, the same for the same seed.
type sketch struct {
	*grapher
	rnd *rand.Rand
}

func newSketch(seed uint64) *sketch {
	return &sketch{newGrapher(View{}, &Profile{}), rand.New(rand.NewPCG(seed, 0))}
}

func (b *sketch) add(w Weight, steps ...Step) { b.addSteps(steps, MarkNone, w) }

// thread adds one that is on the CPU for a share of its time in many places, and waits in few.
func (b *sketch) thread(root string, stacks int, ns int64, share float64) {
	start := []Step{{Name: root, Kind: KindRoot}, {Name: "_start", Module: "/usr/bin/server"}, {Name: "main", Module: "/usr/bin/server"}}
	for range stacks {
		path := append([]Step{}, start...)
		for depth := 3 + b.rnd.IntN(14); depth > 0; depth-- {
			path = append(path, Step{Name: fmt.Sprintf("work::%s_%d(Request const&)", root[:1], b.rnd.IntN(3+len(path))), Module: "/usr/bin/server"})
		}
		if b.rnd.IntN(3) == 0 {
			for _, name := range []string{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_read", "vfs_read"}[:1+b.rnd.IntN(4)] {
				path = append(path, Step{Name: name, Kind: KindKernel, Module: "[kernel]"})
			}
		}
		b.add(Weight{On: int64(float64(ns) * share / float64(stacks) * 2 * b.rnd.Float64()), Count: uint64(b.rnd.IntN(20))}, path...)
	}
	for _, wait := range []string{"epoll_wait", "pthread_cond_wait", "read", "fsync"} {
		path := append(append([]Step{}, start...), Step{Name: "work::wait", Module: "/usr/bin/server"}, Step{Name: wait, Module: "/usr/lib/libc.so.6"},
			Step{Name: "do_syscall_64", Kind: KindKernel, Module: "[kernel]"}, Step{Name: "schedule", Kind: KindKernel, Module: "[kernel]"})
		if wait == "epoll_wait" {
			path = append(path, Step{Name: "[idle]", Kind: KindNote})
		}
		b.add(Weight{Off: int64(float64(ns) * (1 - share) / 2 * b.rnd.Float64()), Count: uint64(b.rnd.IntN(1000))}, path...)
	}
}

func (b *sketch) done() *Graph {
	return b.end()
}

var usualPicture = Picture{
	Title: "Wall-clock time · nginx-1234 · web1",
	Subtitle: "30 s from 2026-03-04 04:06:07 UTC · 99 Hz timer, 12,345 samples · off-CPU stacks: blocks of 1 ms and more · " +
		"1 event lost · 3.2% of user stacks cut",
}

func svgOf(t testing.TB, g *Graph, pic Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := g.WriteSVG(&b, pic); err != nil {
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
	b := newGrapher(View{}, &Profile{})
	f, k := Step{Name: "f", Module: "m"}, Step{Name: "f", Kind: KindKernel}
	b.addSteps([]Step{f, k}, MarkOff, Weight{Off: 1})
	b.addSteps([]Step{f}, MarkOn, Weight{On: 10})
	b.addSteps([]Step{f}, MarkOff, Weight{Off: 100})
	b.addSteps([]Step{k}, MarkOn, Weight{On: 1000})
	g := b.end()
	var got []string
	for _, s := range g.shrunk(10) {
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
	g := newGrapher(View{}, &Profile{}).end()
	if file := svgOf(t, g, Picture{}); !bytes.Contains(file, []byte("<svg")) {
		t.Errorf("got %s", file)
	}
}

// sketchOfThreads has threads that are on the CPU for more and more of their time.
func sketchOfThreads(threads int) *Graph {
	s := newSketch(2)
	for i := range threads {
		s.thread(fmt.Sprintf("worker%d-1/%d", i, i+2), 40, 30e9, float64(i)/float64(2*threads))
	}
	return s.done()
}

// sketchOfChanges is a program that waits less than before, does something new, and no longer something else.
func sketchOfChanges() *Graph {
	now, before := newSketch(1), newSketch(1)
	now.thread("main-1/1", 300, 30e9, 0.4)
	before.thread("main-1/1", 330, 40e9, 0.2)
	now.add(Weight{On: 3e9}, Step{Name: "main-1/1", Kind: KindRoot}, Step{Name: "only_now"})
	before.add(Weight{On: 8e9}, Step{Name: "main-1/1", Kind: KindRoot}, Step{Name: "only_before"}, Step{Name: "far", Kind: KindKernel})
	return compared(now.done(), before.done(), 0.75)
}
