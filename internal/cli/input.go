package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// OpenInputs opens a tool's inputs: standard input without arguments or for "-", one file as an *os.File, several as
// one stream after the other. The name is for messages. All files are opened at once, so that a wrong name is found
// before anything is written. A terminal as standard input is refused as wrong usage. Where one of them is a pipe,
// ReadsPipe is said. Close closes them all.
func (inv *Invocation) OpenInputs() (in io.ReadCloser, name string, err error) {
	paths := inv.Args
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	var files inputs
	var names []string
	for _, path := range paths {
		f, name, err := inv.openInput(path)
		if err != nil {
			files.Close()
			return nil, "", err
		}
		files, names = append(files, f), append(names, name)
	}
	if len(files) == 1 {
		return files[0], names[0], nil
	}
	readers := make([]io.Reader, len(files))
	for i, f := range files {
		readers[i] = f
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(readers...), files}, strings.Join(names, ", "), nil
}

func (inv *Invocation) openInput(path string) (f *os.File, name string, err error) {
	if path == "" {
		return nil, "", Failf(`read "": the name of the file is empty`)
	}
	if path == "-" {
		f, name = inv.Std.In, "standard input"
		if isTerminal(f) {
			return nil, "", Usagef("standard input is a terminal; name a FILE or pipe a stream into %s", inv.Progname)
		}
	} else if f, err = os.Open(path); err == nil {
		name = path
	} else {
		return nil, "", Failf("read %s: %w", path, withoutPath(err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errFolder
	}
	if err != nil {
		f.Close()
		return nil, "", Failf("read %s: %w", name, withoutPath(err))
	}
	if isPipe(info) {
		inv.ReadsPipe()
		widenPipe(f)
	}
	if info.Mode().IsRegular() {
		inv.inputs = append(inv.inputs, info)
	}
	return f, name, nil
}

var errFolder = errors.New("it is a folder; name a file in it")

// withoutPath is the reason alone, for messages that name the file themselves.
func withoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

type inputs []*os.File

func (in inputs) Close() error {
	var errs []error
	for _, f := range in {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
