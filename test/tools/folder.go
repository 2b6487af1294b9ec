package tools

import (
	"os"
	"testing"
)

// DiskFolder makes a folder in a file system with a disk, where temporary ones may be in memory. It is removed when the test ends.
func DiskFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("/var/tmp", "wprof-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}
