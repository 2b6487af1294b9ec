package newfile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Temporary makes a file without a name, for what does not fit into memory. Where the file system has no such files, the
// prefix begins its name. [Discard] follows once it is closed.
func Temporary(prefix string) (*os.File, error) {
	dir := temporaryFolder()
	f, err := Nameless(dir, "temporary file in "+dir)
	if !errors.Is(err, errors.ErrUnsupported) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, prefix+"-*"); err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows removes no open files: then Discard does
	return f, nil
}

// temporaryFolder is /var/tmp by default on Linux, because /tmp is often in memory.
func temporaryFolder() string {
	if runtime.GOOS == "linux" && os.Getenv("TMPDIR") == "" {
		return "/var/tmp"
	}
	return os.TempDir()
}

// Discard removes a temporary file where that was not possible while it was open.
func Discard(closed *os.File) { _ = os.Remove(closed.Name()) }
