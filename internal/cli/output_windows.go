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

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isTooLong(error) bool { return false }

// isClosed is false: writing to a closed standard stream fails here.
func isClosed(*os.File) bool { return false }

func checkReplaceable(string, fs.FileInfo) error { return nil }
