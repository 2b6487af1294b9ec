package newfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Nameless makes a file in dir that has no name, with mode 0600, so that a process that is killed leaves nothing
// behind; name is for messages. Where the file system has no such files: [errors.ErrUnsupported].
func Nameless(dir, name string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) { // open(2), of file systems and of kernels
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, &os.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// NamesCanBeGiven is false without /proc, through which GiveName works.
func NamesCanBeGiven() bool { return unix.Access("/proc/self/fd", unix.F_OK) == nil }

// GiveName gives a file without a name one. If there is a file of that name: [io/fs.ErrExist]. Where names cannot be given:
// [errors.ErrUnsupported].
func GiveName(f *os.File, path string) error {
	if !NamesCanBeGiven() {
		return errors.ErrUnsupported
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	}); err != nil {
		return err
	}
	if failed != nil {
		return &os.PathError{Op: "link", Path: path, Err: failed}
	}
	return nil
}
