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
}

// CreateFolder makes a folder, unless it is there, with mode 0700 and for the user who called sudo if one did, as
// [Invocation.CreateOutput] makes files.
func (inv *Invocation) CreateFolder(path string) (*Folder, error) {
	if path == "" {
		return nil, Failf(`write "": the name of the folder is empty`)
	}
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
	return &Folder{inv, path}, nil
}

var errNoFolder = errors.New("it is no folder; name another one")

// Create begins a file in the folder, see [Invocation.CreateOutput].
func (f *Folder) Create(name string) (*Output, error) {
	return f.inv.CreateOutput(f.path+string(os.PathSeparator)+name, false)
}
