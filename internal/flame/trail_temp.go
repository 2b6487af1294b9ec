package flame

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"wprof/internal/newfile"
)

// createTrailFile makes a file that nobody else sees.
func createTrailFile() (*os.File, error) {
	dir := trailFolder()
	f, err := newfile.Nameless(dir, "temporary file in "+dir)
	if !errors.Is(err, errors.ErrUnsupported) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, "wprof-trail-*"); err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows removes no open files: then discardTrailFile does
	return f, nil
}

// trailFolder is not /tmp by itself on Linux: that is often memory.
func trailFolder() string {
	if runtime.GOOS == "linux" && os.Getenv("TMPDIR") == "" {
		return "/var/tmp"
	}
	return os.TempDir()
}

// discardTrailFile removes the file where that was not possible while it was open.
func discardTrailFile(closed *os.File) { _ = os.Remove(closed.Name()) }
