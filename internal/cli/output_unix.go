//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// errReadOnly is the error of a read-only file system.
const errReadOnly = unix.EROFS

// IsFull reports whether there is no room left, on the disk or for this user.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// IsTooLong reports whether a file may not grow (setrlimit(2), RLIMIT_FSIZE).
func IsTooLong(err error) bool { return errors.Is(err, unix.EFBIG) }

var errSticky = errors.New("it belongs to another user, and no other user may replace it in this folder")

// checkReplaceable returns the error that the rename at the end would have: in a folder like /tmp a file is replaced only by
// its owner, the folder's owner or root.
func checkReplaceable(dir string, old fs.FileInfo) error {
	folder, err := os.Stat(dir)
	if err != nil || folder.Mode()&fs.ModeSticky == 0 {
		return err
	}
	user := os.Geteuid()
	if user == 0 || owner(folder) == user || owner(old) == user {
		return nil
	}
	return errSticky
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
