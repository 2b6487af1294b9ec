package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Room is made by the oldest snapshots, for as much as the newest one takes, which always stays.
func TestOldestSnapshotsMakeRoom(t *testing.T) {
	for sizes, want := range map[[3]int]int{{10, 10, 10}: 1, {10, 10, 15}: 2, {100, 10, 15}: 1, {1, 1, 100}: 2, {0, 10, 0}: 1} {
		k := &Keep{Folder: t.TempDir(), Host: "a"}
		for i, size := range sizes {
			if err := os.WriteFile(filepath.Join(k.Folder, fmt.Sprintf("a-20260610T14300%d.000Z.wprof", i)), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(k.Folder, "a.wprof"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		removed, err := k.makeRoom()
		left, _ := k.list()
		if err != nil || removed != want || len(left) != 3-want || left[0].name != "a-20260610T143002.000Z.wprof" {
			t.Errorf("%v: %d removed, %v, left %v, want %d", sizes, removed, err, left, want)
		}
		for len(left) > 1 {
			_, _ = k.makeRoom()
			left, _ = k.list()
		}
		if removed, err := k.makeRoom(); removed != 0 || err != nil {
			t.Errorf("%v: the newest one was removed, %v", sizes, err)
		}
	}
}

func TestPruneRemovesTheOldestSnapshotsOfThisHost(t *testing.T) {
	names := []string{
		"a-20260610T143005.123Z.wprof", "a-20260610T143005.124Z.wprof", "a-20260610T143005.124Z.1.wprof", "a-20260611T000000.000Z.wprof",
		"a.wprof", "a-20260610T143005.123Z.wprof.part", "a-b-20260610T143005.123Z.wprof", "a-notes.wprof", "a-20260699T143005.123Z.wprof", "b-20260610T143005.123Z.wprof",
	}
	for text, removed := range map[string]int{",3": 1, ",1": 3, ",0,25": 2, ",0,5": 3, ",9,1kb": 0, ",2,15": 3, "": 0} {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 10), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		k, err := ParseKeep(dir + text)
		if err != nil {
			t.Fatal(err)
		}
		k.Host = "a"
		if failed := k.prune(); failed != nil {
			t.Error(failed)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		want := slices.Clone(names)
		order := []string{"a-20260610T143005.123Z.wprof", "a-20260610T143005.124Z.1.wprof", "a-20260610T143005.124Z.wprof"}
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(order[:removed], name) })
		slices.Sort(want)
		if !slices.Equal(left, want) {
			t.Errorf("%q leaves %v, want %v", text, left, want)
		}
	}
}
