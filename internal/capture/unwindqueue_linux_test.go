package capture

import (
	"errors"
	"os"
	"testing"
	"time"

	"wprof/bpf"
)

func wantFile(t *testing.T, inode uint64, size int64, stacks uint64) *wantedFile {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &wantedFile{id: bpf.UnwindFile{Inode: inode}, file: f, size: size, stacks: stacks}
}

// Of small files, the one whose table helps most for its size is first, also if stacks have needed it since it was added. Large ones are
// taken only by those who take large ones.
func TestUnwindQueueOrder(t *testing.T) {
	q := newUnwindQueue()
	for _, w := range []*wantedFile{
		wantFile(t, 1, 100<<20, 1000),
		wantFile(t, 2, 2<<20, 8),
		wantFile(t, 3, 1<<20, 5),
		wantFile(t, 4, 200<<20, 1000),
		wantFile(t, 5, 1<<20, 0),
		wantFile(t, 6, 4<<20, 1),
	} {
		if !q.add(w) {
			t.Fatal("there is room, and a file is not taken over")
		}
	}
	q.count(bpf.UnwindFile{Inode: 6}, 100)
	for _, want := range []struct {
		inode uint64
		large bool
	}{{6, false}, {3, false}, {2, false}, {1, true}, {5, false}, {4, true}} {
		if got := q.take(want.large).id.Inode; got != want.inode {
			t.Errorf("got file %d, want %d", got, want.inode)
		}
	}
}

// A queue waits for files that were taken, too, and a closed one has none.
func TestUnwindQueueEnds(t *testing.T) {
	q := newUnwindQueue()
	left := wantFile(t, 2, 1, 1)
	q.add(wantFile(t, 1, largeFile, 1))
	taken := q.take(true)
	waited := make(chan struct{})
	go func() {
		q.await()
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("the file is taken and not done, and await returned")
	case <-time.After(20 * time.Millisecond):
	}
	q.done(taken)
	<-waited
	q.add(left)
	q.close()
	if got := q.take(false); got != nil {
		t.Errorf("got file %d of a closed queue", got.id.Inode)
	}
	if err := left.file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file that was left: close: %v, want %v", err, os.ErrClosed)
	}
	q.await()
}

// Files beyond the bound are closed.
func TestUnwindQueueIsBounded(t *testing.T) {
	q := newUnwindQueue()
	for i := range uint64(maxWanted) {
		q.add(wantFile(t, i, 1, 1))
	}
	more := wantFile(t, maxWanted, 1, 1)
	if q.add(more) {
		t.Error("one file more than the bound was taken over")
	}
	if err := more.file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("close: %v, want %v", err, os.ErrClosed)
	}
}

// Tables that hide others are waited for: all small ones, and one of the large ones.
func TestUnwindQueueIsBehind(t *testing.T) {
	q := newUnwindQueue()
	a, b, small := wantFile(t, 1, largeFile, 9), wantFile(t, 2, largeFile, 1), wantFile(t, 3, 1, 1)
	hiding := map[bpf.UnwindFile]bpf.MissedMapping{a.id: {}, b.id: {}}
	check := func(when string, want bool) {
		t.Helper()
		if got := q.isBehind(hiding); got != want {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	check("without files", false)
	for _, w := range []*wantedFile{a, b, small} {
		q.add(w)
	}
	check("with all files", true)
	q.done(q.take(false))
	check("with both large ones", true)
	q.take(true)
	check("with one of them taken", true)
	q.done(a)
	check("with one of them done", false)
}
