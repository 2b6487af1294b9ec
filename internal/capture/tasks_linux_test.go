package capture

import (
	"bytes"
	"io"
	"testing"
	"time"

	"wprof/bpf"
	"wprof/internal/ringdata"
)

// fakeTasks is a kernel's list of some threads, and the sink of the lists that are made of it.
type fakeTasks struct {
	left   int
	reads  int
	open   bool
	begun  int
	ended  int
	listed int
}

func (f *fakeTasks) Read(b []byte) (int, error) {
	f.reads++
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(f.left, len(b)/ringdata.TaskSize)
	f.left -= n
	return n * ringdata.TaskSize, nil
}

func (f *fakeTasks) Close() error {
	f.open = false
	return nil
}

func (f *fakeTasks) BeginTasks() { f.begun++ }

func (f *fakeTasks) Tasks(b []byte) error {
	f.listed += len(b) / ringdata.TaskSize
	return nil
}

func (f *fakeTasks) EndTasks() error {
	f.ended++
	return nil
}

func (f *fakeTasks) lists(threads int) *taskLists {
	return &taskLists{shortest: generationEvery / 2, sink: f, open: func() (taskSource, error) {
		f.left, f.open = threads, true
		return f, nil
	}}
}

func TestARoundListsOneSliceOfTheThreads(t *testing.T) {
	f := &fakeTasks{}
	l := f.lists(20_000)
	const slice = bpf.TaskSlice / ringdata.TaskSize
	rounds := 0
	for {
		before := f.listed
		if err := l.round(true); err != nil {
			t.Fatal(err)
		}
		if n := f.listed - before; n > slice {
			t.Fatalf("a round has listed %d threads, want at most %d", n, slice)
		}
		if rounds++; !l.underWay() {
			break
		}
	}
	if f.listed != 20_000 || f.begun != 1 || f.ended != 1 || f.open || rounds != 20_000/slice+1 {
		t.Errorf("%+v after %d rounds", f, rounds)
	}
	if err := l.round(true); err != nil || f.begun != 1 {
		t.Errorf("%v; %d lists were begun, want no second one at once", err, f.begun)
	}
}

func TestListsOfManyThreadsAreRare(t *testing.T) {
	for _, c := range []struct {
		threads int
		want    time.Duration
	}{{100, generationEvery / 2}, {10_000, 15 * time.Second}, {100_000, 30 * time.Second}} {
		l := (&fakeTasks{}).lists(c.threads)
		if err := l.all(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(l.next - l.began); got != c.want {
			t.Errorf("%d threads: the next list is due after %v, want %v", c.threads, got, c.want)
		}
	}
}

func TestListsBeginWithAGeneration(t *testing.T) {
	f := &fakeTasks{}
	l := f.lists(10)
	if err := l.round(false); err != nil || f.begun != 0 {
		t.Fatal(err, f.begun)
	}
	if err := l.round(true); err != nil || f.begun != 1 || f.ended != 1 {
		t.Fatal(err, f)
	}
}

func TestListsComeSoonAfterALoss(t *testing.T) {
	f := &fakeTasks{}
	l := f.lists(10_000)
	if err := l.all(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	l.recordsLost()
	if got := time.Duration(l.next - l.began); got != generationEvery/2 {
		t.Errorf("after a loss the next list is due after %v", got)
	}
	// Records that are lost during a list may be of threads that it has passed.
	if err := l.begin(); err != nil {
		t.Fatal(err)
	}
	l.recordsLost()
	for l.underWay() {
		if err := l.slice(); err != nil {
			t.Fatal(err)
		}
	}
	if got := time.Duration(l.next - l.began); got != generationEvery/2 {
		t.Errorf("after a loss beside a list the next one is due after %v", got)
	}
}

func TestANewListLeavesTheOneUnderWayIncomplete(t *testing.T) {
	f := &fakeTasks{}
	l := f.lists(900)
	if err := l.round(true); err != nil || !l.underWay() {
		t.Fatal(err, l.underWay())
	}
	between := 0
	if err := l.all(func() error { between++; return nil }); err != nil {
		t.Fatal(err)
	}
	if f.begun != 2 || f.ended != 1 || between != 2 || l.underWay() {
		t.Errorf("%+v, between slices %d times", f, between)
	}
}

// TestListWaitsForWhatTheKernelLeavesOut: it is read beside the rounds, and the list is complete when it is there.
func TestListWaitsForWhatTheKernelLeavesOut(t *testing.T) {
	f := &fakeTasks{}
	l := f.lists(10)
	ready := make(chan []byte)
	l.missing = func() []byte { return <-ready }
	for range 3 {
		if err := l.round(true); err != nil || !l.underWay() || f.ended != 0 {
			t.Fatal(err, f)
		}
	}
	ready <- bytes.Repeat([]byte{0}, 2*ringdata.TaskSize)
	for l.underWay() {
		if err := l.round(true); err != nil {
			t.Fatal(err)
		}
	}
	if f.listed != 12 || f.ended != 1 {
		t.Errorf("%+v", f)
	}
}
