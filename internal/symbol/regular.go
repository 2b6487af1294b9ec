package symbol

import (
	"errors"
	"os"
)

var errNotRegular = errors.New("it is not a regular file")

// errEmpty is also the error for files of /proc, which look regular and have size 0: reading one may block for ever (kmsg) or
// consume data that other processes would have read.
var errEmpty = errors.New("it is empty")

// OpenUntrusted opens a regular file that is not empty, in a folder that other users may write to: a link is not followed.
func OpenUntrusted(name string) (*os.File, error) {
	file, _, err := openIfRegular(name, os.Lstat)
	return file, err
}

// OpenRegular opens a regular file that is not empty.
func OpenRegular(name string) (*os.File, int64, error) { return openIfRegular(name, os.Stat) }

// openIfRegular checks before it opens a file: opening a device or a pipe has side effects.
func openIfRegular(name string, stat func(string) (os.FileInfo, error)) (*os.File, int64, error) {
	before, err := stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !before.Mode().IsRegular() {
		return nil, 0, errNotRegular
	}
	if before.Size() == 0 {
		return nil, 0, errEmpty
	}
	file, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, 0, err
	}
	after, err := file.Stat()
	if err == nil && (!after.Mode().IsRegular() || !os.SameFile(before, after)) {
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, after.Size(), nil
}
