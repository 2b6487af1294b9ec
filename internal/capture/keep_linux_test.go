package capture

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

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
