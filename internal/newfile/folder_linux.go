package newfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// errLink is the error of another user's link where a folder was expected.
var errLink = errors.New("it is another user's symbolic link, which is not followed; name a folder")

// OpenFolder opens a folder to make files in it. Another user's link may lead anywhere: only links of this user, of root and of
// the user who called sudo are followed.
func OpenFolder(path string) (*os.File, error) {
	f, err := openFolder(path, unix.O_NOFOLLOW)
	if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return f, err
	}
	var link unix.Stat_t
	if unix.Lstat(path, &link) != nil || link.Mode&unix.S_IFMT != unix.S_IFLNK {
		return nil, err
	}
	if !isTrusted(link.Uid) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errLink}
	}
	return openFolder(path, 0)
}

// openFolder also opens folders that may be written but not listed.
func openFolder(path string, flags int) (*os.File, error) {
	flags |= unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = unix.Open(path, flags|unix.O_PATH, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func isTrusted(owner uint32) bool {
	sudo, _, isSudo := sudoUser()
	return owner == 0 || int(owner) == os.Geteuid() || isSudo && int(owner) == sudo
}

// PathIn is a path of a file in an open folder that stays valid if the folder is renamed. Without /proc it is by the folder's
// name.
func PathIn(folder *os.File, name string) string {
	path := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	opened, err := folder.Stat()
	if err == nil {
		if there, err := os.Stat(path); err == nil && os.SameFile(there, opened) {
			return path + "/" + name
		}
	}
	return folder.Name() + "/" + name
}
