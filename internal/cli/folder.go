package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"wprof/internal/newfile"
)

// Folder is a folder that a tool writes files into.
type Folder struct {
	inv  *Invocation
	path string
	dir  *os.File // the folder itself, even if another one has its name by now
	made bool     // it was not there before
}

// CreateFolder makes a folder, unless it is there, with mode 0700 and for the user who called sudo if one did, as
// [Invocation.CreateOutput] makes files. Links that others may have left there are not followed, see [newfile.OpenFolder].
func (inv *Invocation) CreateFolder(path string) (*Folder, error) {
	if path == "" {
		return nil, Failf(`write "": the name of the folder is empty`)
	}
	f := &Folder{inv: inv, path: path}
	if err := AsUser(f.open); err != nil {
		return nil, cannotWrite(path, err)
	}
	inv.OnAbort(f.Abort)
	return f, nil
}

func (f *Folder) open() (err error) {
	info, err := os.Stat(f.path)
	switch {
	case err == nil && !info.IsDir():
		return errNoFolder
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(f.path, 0o700); err != nil {
			return err
		}
		f.made = true
	case err != nil:
		return err
	}
	if f.dir, err = newfile.OpenFolder(f.path); err != nil {
		return err
	}
	if !f.made {
		return nil
	}
	opened, err := f.dir.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(f.path); err != nil || !os.SameFile(named, opened) {
		return errReplaced
	}
	return newfile.GiveToSudoUser(f.dir)
}

// Abort removes a folder that was made and is still empty. Later calls do nothing.
func (f *Folder) Abort() {
	_ = f.dir.Close() // some systems remove no open ones
	if f.made {
		_ = AsUser(func() error { return os.Remove(f.path) })
	}
}

// Names are the names in the folder. It can be called once.
func (f *Folder) Names() ([]string, error) {
	entries, err := f.dir.ReadDir(-1)
	if err != nil {
		return nil, cannotWrite(f.path, withoutPath(err))
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

var (
	errNoFolder = errors.New("it is no folder; name another one")
	errReplaced = errors.New("another folder replaced it while it was created; name one where no other user may write")
)

// RemoveFiles removes the regular files of the folder itself whose names match.
func (f *Folder) RemoveFiles(match func(name string) bool) error {
	return AsUser(func() error {
		entries, err := f.dir.ReadDir(-1)
		if err != nil {
			return withoutPath(err)
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !match(entry.Name()) {
				continue
			}
			if err := os.Remove(newfile.PathIn(f.dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", entry.Name(), withoutPath(err))
			}
		}
		return nil
	})
}

// Create begins a file in the folder, see [Invocation.CreateOutput].
func (f *Folder) Create(name string) (*Output, error) {
	return f.inv.createOutputAs(newfile.PathIn(f.dir, name), f.path+string(os.PathSeparator)+name, false, f)
}
