package cli

import (
	"errors"
	"os"

	"wprof/internal/newfile"
)

// Folder is a folder that a tool writes files into.
type Folder struct {
	inv  *Invocation
	path string
	made bool // it was not there before
}

// CreateFolder makes a folder, unless it is there, with mode 0700 and for the user who called sudo if one did, as
// [Invocation.CreateOutput] makes files.
func (inv *Invocation) CreateFolder(path string) (*Folder, error) {
	if path == "" {
		return nil, Failf(`write "": the name of the folder is empty`)
	}
	made := false
	err := AsUser(func() error {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return errNoFolder
		}
		if err == nil {
			return nil
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		made = true
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return newfile.GiveToSudoUser(f)
	})
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	f := &Folder{inv, path, made}
	inv.OnAbort(f.Abort)
	return f, nil
}

// Abort removes a folder that was made and that nothing has come into. It does no harm afterwards.
func (f *Folder) Abort() {
	if f.made {
		_ = AsUser(func() error { return os.Remove(f.path) })
	}
}

// Has tells whether a file is in the folder.
func (f *Folder) Has(name string) bool {
	_, err := os.Lstat(f.path + string(os.PathSeparator) + name)
	return err == nil
}

var errNoFolder = errors.New("it is no folder; name another one")

// Create begins a file in the folder, see [Invocation.CreateOutput].
func (f *Folder) Create(name string) (*Output, error) {
	return f.inv.CreateOutput(f.path+string(os.PathSeparator)+name, false)
}
