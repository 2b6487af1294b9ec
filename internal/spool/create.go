package spool

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Create makes a spool at path, for the user behind sudo and nobody else. A file that is there is moved aside, see
// [Writer.MovedAside].
func Create(path string) (*Writer, error) {
	moved, err := moveAside(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the spool: %w", err)
	}
	if err := giveToUser(file); err != nil {
		file.Close()
		os.Remove(path)
		return nil, fmt.Errorf("give the spool to the user behind sudo: %w", err)
	}
	// Held until the file is closed, so that another recorder does not move it aside. A file system without locks
	// goes without.
	_ = lock(file)
	w := newWriter(file, path)
	w.moved = moved
	return w, nil
}

// errInUse is what lock returns about a file that another process has locked.
var errInUse = errors.New("another wprof-record is writing it")

// moveAside makes room at path: what is there goes to path.1, path.2 and so on.
func moveAside(path string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if inUse(path) {
		return "", fmt.Errorf("create the spool %s: %w; choose another output", path, errInUse)
	}
	for n := 1; ; n++ {
		to := path + "." + strconv.Itoa(n)
		// A link fails where a name is taken; a rename would replace it.
		err := os.Link(path, to)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			err = os.Remove(path)
		} else if _, taken := os.Lstat(to); errors.Is(taken, os.ErrNotExist) {
			err = os.Rename(path, to) // a file system without hard links
		}
		if err != nil {
			return "", fmt.Errorf("move an old spool aside: %w", err)
		}
		return to, nil
	}
}

func inUse(path string) bool {
	file, err := openOld(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(lock(file), errInUse)
}

// CreateUnlinked makes a spool that vanishes with its last user, in dir, or in $TMPDIR or /var/tmp if dir is "".
func CreateUnlinked(dir string) (*Writer, error) {
	if dir == "" {
		dir = os.Getenv("TMPDIR")
	}
	if dir == "" {
		dir = "/var/tmp"
	}
	file, err := openUnlinked(dir)
	if err != nil {
		return nil, fmt.Errorf("create a spool in %s: %w; set TMPDIR to a folder that can be written to", dir, err)
	}
	return newWriter(file, ""), nil
}

func openAndRemove(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "wprof-spool-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
