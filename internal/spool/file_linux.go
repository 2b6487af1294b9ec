package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openUnlinked makes a file that never had a name, or, where the file system cannot, one that has lost it.
func openUnlinked(dir string) (*os.File, error) {
	file, err := openTmpfile(dir)
	if file == nil && err == nil {
		return openAndRemove(dir)
	}
	return file, err
}

// openNameless makes a locked file that giveName can give a name; nil where the file system cannot.
func openNameless(dir string) (*os.File, error) {
	file, err := openTmpfile(dir)
	if file != nil {
		_ = lock(file)
	}
	return file, err
}

// openTmpfile returns nil, nil where the file system has no files without names.
func openTmpfile(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), "spool in "+dir), nil
}

// giveName lets a file without a name appear under one that is not taken. Without /proc that is unsupported.
func giveName(file *os.File, path string) error {
	through := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if unix.Access(through, unix.F_OK) != nil {
		return errors.ErrUnsupported
	}
	if err := unix.Linkat(unix.AT_FDCWD, through, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.PathError{Op: "link", Path: path, Err: err}
	}
	return nil
}

// openOld opens whatever stands where a spool is to be, without waiting for anybody and without following a link.
func openOld(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// lock keeps a file for this process.
func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errInUse
	}
	return err
}

func isTmpfs(file *os.File) bool {
	var stat unix.Statfs_t
	err := unix.Fstatfs(int(file.Fd()), &stat)
	return err == nil && (stat.Type == unix.TMPFS_MAGIC || stat.Type == unix.RAMFS_MAGIC)
}

// giveToUser gives the file to the user who called sudo.
func giveToUser(file *os.File) error {
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	gid, err := strconv.Atoi(os.Getenv("SUDO_GID"))
	if err != nil {
		gid = -1
	}
	return file.Chown(uid, gid)
}

// maxVector is IOV_MAX.
const maxVector = 1024

// writeVector writes the parts at an offset, as a rule with one system call.
func writeVector(file *os.File, parts [][]byte, offset int64) error {
	fd := int(file.Fd())
	for len(parts) > 0 {
		n, err := unix.Pwritev(fd, parts[:min(len(parts), maxVector)], offset)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "write", Path: file.Name(), Err: err}
		}
		offset += int64(n)
		empty := n == 0
		for len(parts) > 0 && n >= len(parts[0]) {
			n -= len(parts[0])
			parts = parts[1:]
		}
		if len(parts) > 0 {
			if empty {
				return io.ErrShortWrite
			}
			parts[0] = parts[0][n:]
		}
	}
	return nil
}

// punch gives back the disk space of a part of the file. A file system that cannot keeps it.
func punch(file *os.File, offset, length int64) {
	_ = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
}
