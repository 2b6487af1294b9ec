package spool

import (
	"errors"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// openOld opens what is at the path of a new spool, without blocking and without following a link.
func openOld(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// openFolder opens a folder, which need not be readable, to find its path after it was moved.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// lock locks a file for this process, without waiting.
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

// allocate returns memory that the kernel backs when it is used; nil: there is none.
func allocate(bytes int) []byte {
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return memory
}

func release(memory []byte) { _ = unix.Munmap(memory) }

// punch gives back the disk space of a part of the file. A file system that cannot keeps it.
func punch(file *os.File, offset, length int64) {
	_ = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
}

// Room is by how many bytes the spool's file can grow: the free space of its disk, and the limit of file sizes.
func (w *Writer) Room() int64 {
	var disk unix.Statfs_t
	if unix.Fstatfs(int(w.file.Fd()), &disk) != nil {
		return 0
	}
	room := uint64(disk.Bavail) * uint64(disk.Frsize)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil {
		if info, err := w.file.Stat(); err == nil {
			room = min(room, limit.Cur-min(limit.Cur, uint64(info.Size())))
		}
	}
	return int64(min(room, math.MaxInt64))
}

// canPunch returns the error of freeing parts of a file.
func canPunch(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, info.Size()+1<<20, 4096)
}
