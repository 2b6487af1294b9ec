package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// OpenInputs opens a tool's inputs: standard input without arguments or for "-", one file as an *os.File, several as
// one stream after the other. The name is for messages.
func (inv *Invocation) OpenInputs() (io.ReadCloser, string, error) {
	names := inv.Args
	if len(names) == 0 {
		names = []string{"-"}
	}
	var files inputs
	for _, name := range names {
		f, err := inv.openInput(name)
		if err != nil {
			files.Close()
			return nil, "", err
		}
		files = append(files, f)
	}
	if len(files) == 1 {
		return files[0], files[0].Name(), nil
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

func (inv *Invocation) openInput(name string) (*os.File, error) {
	f := inv.Std.In
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, Failf("read %s: %w", name, withoutPath(err))
		}
	} else if isTerminal(f) {
		return nil, Usagef("standard input is a terminal; name a FILE or pipe a stream into %s", inv.Tool.Name)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, Failf("read %s: %w", name, withoutPath(err))
	}
	if info.IsDir() {
		return nil, Failf("read %s: it is a folder", name)
	}
	if !info.Mode().IsRegular() {
		inv.ReadsPipe()
		widenPipe(f)
	}
	return f, nil
}

// withoutPath is the reason alone, for messages that name the file themselves.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
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
