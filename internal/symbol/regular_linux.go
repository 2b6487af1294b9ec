package symbol

import (
	"os"

	"golang.org/x/sys/unix"

	"wprof/format"
)

// openFlags keep open from blocking if a pipe has replaced the file since it was checked.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// getVersion is FS_IOC_GETVERSION of 64-bit machines (include/uapi/linux/fs.h).
const getVersion = 0x80087601

// checkSame returns an error unless a file is the one that a module without a build-id was mapped from, and has not changed since:
// errUnidentified if inode and size were not recorded, errTouched if only the inode has changed. Setting the mtime back changes the ctime. The generation, which distinguishes
// files that had the same inode number one after the other, is compared if the file system has it.
func checkSame(file *os.File, m *format.Module) error {
	if m.Inode == 0 || m.Size == 0 {
		return errUnidentified
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return errUnidentified
	}
	if uint64(st.Size) != m.Size || uint64(st.Mtim.Nano()) != m.Mtime {
		return errOther
	}
	if err := checkInode(file, m); err != nil {
		return err
	}
	if uint64(st.Ctim.Nano()) != m.Ctime {
		return errTouched
	}
	return nil
}

// checkInode returns an error unless a file is the one of a module, whatever was written to it since.
func checkInode(file *os.File, m *format.Module) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil || m.Inode == 0 {
		return errUnidentified
	}
	device := uint64(unix.Major(st.Dev))<<32 | uint64(unix.Minor(st.Dev))
	if device != m.Device || st.Ino != m.Inode {
		return errOther
	}
	if m.Generation == 0 {
		return nil
	}
	if generation, err := unix.IoctlGetUint32(int(file.Fd()), getVersion); err == nil && uint64(generation) != m.Generation {
		return errOther
	}
	return nil
}
