package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"wprof/internal/newfile"
)

// Create creates a spool at path, accessible only to the user behind sudo. A file that is there is moved aside, see
// [Writer.MovedAside].
//
// The spool is locked until it is closed, so that another recorder does not move it aside. It gets its name after it is
// locked, so that no process finds it unlocked. On a file system without locks it is not locked.
func Create(path string) (*Writer, error) {
	file, err := openNameless(filepath.Dir(path))
	moved := ""
	switch {
	case err == nil:
		_ = lock(file)
		moved, err = makeRoom(path, func() error { return newfile.GiveName(file, path) })
	case !errors.Is(err, errors.ErrUnsupported):
		return nil, fmt.Errorf("create the spool: %w", err)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if file != nil {
			file.Close()
		}
		moved, err = makeRoom(path, func() (err error) {
			if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = lock(file)
			}
			return err
		})
	}
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, err
	}
	w := newWriter(file, path)
	w.moved = moved
	w.folder, _ = openFolder(filepath.Dir(path))
	w.restrict()
	return w, nil
}

// makeRoom moves aside what is in the way until create no longer finds anything there.
func makeRoom(path string, create func() error) (moved string, err error) {
	// If new files keep appearing, another recorder makes them, and will have locked one soon.
	for range 100 {
		if err = create(); err == nil || !errors.Is(err, os.ErrExist) {
			break
		}
		if moved, err = moveAside(path); err != nil {
			return "", err
		}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("create the spool: %w", err)
	}
	return moved, err
}

// restrict makes the spool accessible only to the user who called sudo, whatever the umask. Errors are ignored, because some file
// systems have no modes or owners and the recording matters more.
func (w *Writer) restrict() {
	_ = w.file.Chmod(0o600)
	_ = newfile.GiveToSudoUser(w.file)
}

// errInUse is the error of lock for a file that another process has locked.
var errInUse = errors.New("another wprof-record is writing it")

// moveAside makes room at path: what is there goes to path.1, path.2 and so on. It is locked meanwhile, so that of
// several recorders one moves it.
func moveAside(path string) (string, error) {
	old, err := lockOld(path)
	if err != nil {
		return "", fmt.Errorf("create the spool %s: %w; choose another output", path, err)
	}
	if old != nil {
		defer old.Close()
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
			return "", fmt.Errorf("move an old spool aside: %w; choose another output", err)
		}
		return to, nil
	}
}

// lockOld locks the file at path. It returns nil if it cannot be opened: then it is no spool of this user.
func lockOld(path string) (*os.File, error) {
	for {
		file, err := openOld(path)
		if err != nil {
			return nil, nil
		}
		if err := lock(file); errors.Is(err, errInUse) {
			file.Close()
			return nil, err
		}
		if standsAt(file, path) {
			return file, nil
		}
		// Another recorder has moved it between the two.
		file.Close()
	}
}

// standsAt reports whether path is still a name of the file.
func standsAt(file *os.File, path string) bool {
	is, err := file.Stat()
	if err != nil {
		return false
	}
	found, err := os.Lstat(path)
	return err == nil && os.SameFile(is, found)
}

// CreateUnlinked makes a spool that vanishes with its last user, in dir, or in $TMPDIR or /var/tmp if dir is "".
func CreateUnlinked(dir string) (*Writer, error) {
	if dir == "" {
		dir = folder()
	}
	file, err := openUnlinked(dir)
	if err != nil {
		return nil, fmt.Errorf("create a spool in %s: %w; set TMPDIR to a folder that can be written to", dir, err)
	}
	return newWriter(file, ""), nil
}

// folder returns the folder of spools without a given name.
func folder() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	return "/var/tmp"
}

// namelessSpool, with the folder, stands for a file without a name in messages.
const namelessSpool = "spool in "

// openNameless makes a file without a name.
func openNameless(dir string) (*os.File, error) { return newfile.Nameless(dir, namelessSpool+dir) }

// openUnlinked makes a file that never had a name, or, where the file system cannot, one that has lost it.
func openUnlinked(dir string) (*os.File, error) {
	file, err := openNameless(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return openAndRemove(dir)
	}
	return file, err
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
