package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openNameless makes a file in dir that has no name, so that a tool that is killed leaves nothing behind; name is what
// the file calls itself. It returns nil where the file system cannot do that, or /proc, through which it gets a name, is
// not there.
func openNameless(dir, name string) *os.File {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	if err := unix.Access(throughProc(fd), unix.F_OK); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}

// giveName lets a nameless file appear under a name. One that is taken stays as it is: [fs.ErrExist].
func giveName(f *os.File, path string) error {
	fd, ok := descriptor(f)
	if !ok {
		return os.ErrClosed
	}
	if err := unix.Linkat(unix.AT_FDCWD, throughProc(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.PathError{Op: "link", Path: path, Err: err}
	}
	return nil
}

func throughProc(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
