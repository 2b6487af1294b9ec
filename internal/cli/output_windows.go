package cli

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is nothing here: opening a device by its name follows no link.
const noFollow = 0

// errReadOnly is the error of a write-protected medium.
const errReadOnly = windows.ERROR_WRITE_PROTECT

// IsFull reports whether there is no room left on the disk.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// IsTooLong is false: there is no such limit.
func IsTooLong(error) bool { return false }

// isClosed is false: writing to a closed standard stream fails here.
func isClosed(*os.File) bool { return false }

func checkReplaceable(string, fs.FileInfo) error { return nil }
