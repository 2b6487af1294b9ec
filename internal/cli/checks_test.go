package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolderThatIsReadMustBeThere(t *testing.T) {
	if err := CheckFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{file, file + "-missing"} {
		if CheckFolder(wrong) == nil {
			t.Errorf("%s passes for a folder", wrong)
		}
	}
}
