package capture

import (
	"math/bits"
	"os"
	"slices"
	"sync"

	"wprof/bpf"
)

const (
	// maxWanted bounds the files that are open while they wait for their tables. The kernel programs report others again.
	maxWanted = 32
	// largeFile is the size from which a file's table may take too long for those of smaller ones to wait for it: 5 to 20 ms.
	largeFile = 8 << 20
)

// wantedFile is a file whose table is to be made.
type wantedFile struct {
	id     bpf.UnwindFile
	file   *os.File
	size   int64
	stacks uint64 // that needed the table
}

// precedes reports whether the table of w helps more stacks than that of v for each byte that is read. 0 counts as 1.
func (w *wantedFile) precedes(v *wantedFile) bool {
	high, low := bits.Mul64(max(w.stacks, 1), uint64(max(v.size, 1)))
	otherHigh, otherLow := bits.Mul64(max(v.stacks, 1), uint64(max(w.size, 1)))
	return high > otherHigh || high == otherHigh && low > otherLow
}

// unwindQueue holds the files whose tables are to be made. Large ones are taken separately, so that neither kind waits for the other. Its
// methods may be called by any goroutine.
type unwindQueue struct {
	mu      sync.Mutex
	changed sync.Cond
	files   []*wantedFile
	taken   []*wantedFile // that are not done
	closed  bool
}

func newUnwindQueue() *unwindQueue {
	q := &unwindQueue{}
	q.changed.L = &q.mu
	return q
}

// add takes a file over, which it closes if it returns false: there is no room.
func (q *unwindQueue) add(w *wantedFile) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.files) >= maxWanted {
		_ = w.file.Close()
		return false
	}
	q.files = append(q.files, w)
	q.changed.Broadcast()
	return true
}

// count adds stacks that needed the table of a file, if it still waits for it.
func (q *unwindQueue) count(id bpf.UnwindFile, stacks uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.files {
		if w.id == id {
			w.stacks += stacks
			return
		}
	}
}

// take waits for a large or a small file, and returns that with the most stacks for its size; nil: the queue was closed. The caller closes the file
// and calls done.
func (q *unwindQueue) take(large bool) *wantedFile {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ; !q.closed; q.changed.Wait() {
		best := -1
		for i, w := range q.files {
			if w.size >= largeFile == large && (best < 0 || w.precedes(q.files[best])) {
				best = i
			}
		}
		if best >= 0 {
			w := q.files[best]
			q.files = slices.Delete(q.files, best, best+1)
			q.taken = append(q.taken, w)
			return w
		}
	}
	return nil
}

func (q *unwindQueue) done(w *wantedFile) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = slices.DeleteFunc(q.taken, func(t *wantedFile) bool { return t == w })
	q.changed.Broadcast()
}

// isBehind reports whether small files are not done, or all of the given ones.
func (q *unwindQueue) isBehind(all map[bpf.UnwindFile]bpf.MissedMapping) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := 0
	for _, w := range slices.Concat(q.files, q.taken) {
		if w.size < largeFile {
			return true
		}
		if _, ok := all[w.id]; ok {
			left++
		}
	}
	return left > 0 && left == len(all)
}

// await waits until all files have been done, or the queue is closed.
func (q *unwindQueue) await() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.files)+len(q.taken) > 0 {
		q.changed.Wait()
	}
}

// isBusy reports whether files are not done.
func (q *unwindQueue) isBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.files)+len(q.taken) > 0
}

// close drops the files that have not been taken.
func (q *unwindQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.files {
		_ = w.file.Close()
	}
	q.files = nil
	q.changed.Broadcast()
}
