package symbol

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestUntrustedFileIsOpenedIfItIsRegularAndNoLink(t *testing.T) {
	dir := t.TempDir()
	file, empty, link := filepath.Join(dir, "file"), filepath.Join(dir, "empty"), filepath.Join(dir, "link")
	for name, text := range map[string]string{file: "text", empty: ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]error{file: nil, empty: errEmpty, link: errNotRegular, dir: errNotRegular} {
		f, err := OpenUntrusted(name)
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", filepath.Base(name), err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if f, _, err := OpenRegular(link); err != nil {
		t.Errorf("a link to a trusted file: %v", err)
	} else {
		f.Close()
	}
}
