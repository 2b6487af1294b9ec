package symbol

import (
	"errors"
	"os"
)

var errNotRegular = errors.New("it is no regular file")

// errEmpty is also about files of /proc, which look regular: reading one may wait for ever (kmsg), or take from others
// what they would have read.
var errEmpty = errors.New("it is empty")

// openRegular opens a file if it is a regular one with something in it. What is none is not even opened: opening a device
// or a pipe has effects of its own.
func openRegular(name string) (*os.File, int64, error) {
	before, err := os.Stat(name)
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
