package spill

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func bytesOf(t *testing.T, each func(func([]byte) error) error) (all []byte) {
	t.Helper()
	if err := each(func(b []byte) error { all = append(all, b...); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func add(t *testing.T, c *Chain, b []byte) {
	t.Helper()
	if err := c.Commit(append(c.Buffer(), b...)); err != nil {
		t.Fatal(err)
	}
}

// A chain gives back what was added, whatever others add between, in memory or from the file, detached or not.
func TestChainGivesBackWhatWasAdded(t *testing.T) {
	for _, limit := range []int{0, 100, 5000, 1 << 30} {
		s := NewStore(limit, "bytes")
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		var want [50][]byte
		var got [50]*Chain
		for i := range got {
			got[i] = s.Chain()
		}
		for range 5000 {
			i := r.IntN(len(got))
			b := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(300))
			add(t, got[i], b)
			want[i] = append(want[i], b...)
		}
		for i, c := range got {
			if all := bytesOf(t, c.Each); !bytes.Equal(all, want[i]) {
				t.Fatalf("limit %d: chain %d: got %d bytes, want %d", limit, i, len(all), len(want[i]))
			}
		}
		if inFile := s.file != nil; inFile != (limit < 1<<30) {
			t.Errorf("limit %d: there is a file: %v", limit, inFile)
		}
		var detached [50]Ref
		for i, c := range got {
			var err error
			if detached[i], err = c.Detach(); err != nil {
				t.Fatal(err)
			}
		}
		for i, ref := range detached {
			if all := bytesOf(t, s.At(ref).Each); !bytes.Equal(all, want[i]) {
				t.Fatalf("limit %d: detached chain %d: got %d bytes, want %d", limit, i, len(all), len(want[i]))
			}
		}
		s.Close()
	}
}

// What one Commit adds comes back in one piece.
func TestCommitsAreNotCut(t *testing.T) {
	s := NewStore(1<<30, "bytes")
	defer s.Close()
	c := s.Chain()
	for range 100_000 {
		add(t, c, []byte("0123456789abc"))
	}
	chunks := 0
	if err := c.Each(func(b []byte) error {
		chunks++
		if len(b)%13 != 0 {
			t.Errorf("a chunk of %d bytes", len(b))
		}
		return nil
	}); err != nil || chunks < 2 {
		t.Errorf("%d chunks, %v", chunks, err)
	}
}

func TestStoreLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := NewStore(0, "bytes")
	c := s.Chain()
	add(t, c, []byte("a"))
	if s.file == nil {
		t.Error("nothing went to a file")
	}
	s.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := c.Each(func([]byte) error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading from a closed store: %v", err)
	}
	if err := c.Commit(append(c.Buffer(), 'b')); !errors.Is(err, os.ErrClosed) {
		t.Errorf("adding to a closed store: %v", err)
	}
}

func TestStoreSaysWhereItCannotKeepBytes(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	s := NewStore(0, "bytes")
	defer s.Close()
	c := s.Chain()
	err := c.Commit(append(c.Buffer(), 'a'))
	if err == nil || !strings.Contains(err.Error(), "keep bytes") || !strings.Contains(err.Error(), "/nonexistent") || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("got %v", err)
	}
	if err := c.Each(func([]byte) error { return nil }); err == nil {
		t.Error("a chain that could not be kept is read as if it were whole")
	}
}
