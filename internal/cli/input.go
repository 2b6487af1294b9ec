package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"wprof/format"
)

// OpenInputs opens a tool's inputs: standard input without arguments or for "-", one file as an *os.File, several as
// one stream after the other. The name is for messages. All files are opened at once, so that a wrong name is found
// before anything is written. A terminal as standard input is refused as wrong usage. If one of them is a pipe, it calls
// HandleStop. Close closes them all.
func (inv *Invocation) OpenInputs(paths ...string) (in io.ReadCloser, name string, err error) {
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	all := &joined{isFinite: true}
	for _, path := range paths {
		f, name, err := inv.openInput(path)
		if err == nil {
			all.files, all.names = append(all.files, f), append(all.names, name)
			err = all.check(f, name, len(paths))
		}
		if err != nil {
			all.Close()
			return nil, "", err
		}
	}
	if len(all.files) == 1 {
		return all.files[0], all.names[0], nil
	}
	return all, strings.Join(all.names, ", "), nil
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
		return nil, "", inv.notAnInput(path, withoutPath(err))
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
		inv.HandleStop()
		widenPipe(f)
	}
	if info.Mode().IsRegular() {
		inv.inputs = append(inv.inputs, info)
		if err := inv.checkIntended(f, path); err != nil {
			f.Close()
			return nil, "", err
		}
	}
	return f, name, nil
}

// notAnInput returns the error about an argument that cannot be read, with the flag whose value it may have been intended to be.
func (inv *Invocation) notAnInput(path string, err error) error {
	if hint := inv.outputHint(path); hint != "" {
		return Usagef("read %s: %w; to write it, give %s", path, err, hint)
	}
	return Failf("read %s: %w", path, err)
}

// checkIntended returns an error about a file that may have been intended as an output and has no part of a stream. As one of several
// inputs it would otherwise be read as damage.
func (inv *Invocation) checkIntended(f *os.File, path string) error {
	if inv.outputHint(path) == "" || !format.IsOther(io.NewSectionReader(f, 0, math.MaxInt64)) {
		return nil
	}
	return inv.notAnInput(path, format.ErrNotStream)
}

// outputHint returns how a file is written by a flag that was given without its optional file: "--svg=wall.svg"; "": there is none.
func (inv *Invocation) outputHint(path string) string {
	for _, f := range inv.Tool.flags() {
		if f.Kind == Optional && f.Files && slices.Contains(inv.Strings(f.Name), "") {
			return "--" + f.Name + "=" + path
		}
	}
	return ""
}

// IsRegular reports whether an input is a regular file.
func IsRegular(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

var errFolder = errors.New("it is a folder; name a file in it")

// withoutPath returns the reason alone, for messages that name the file themselves.
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

// joined is several inputs, one after the other. An empty one is an error.
type joined struct {
	files    []*os.File
	names    []string
	at       int  // of the file that is read
	begun    bool // it is not empty
	isFinite bool // all are regular files
}

// check checks the type of one of count inputs.
func (j *joined) check(f *os.File, name string, count int) error {
	info, err := f.Stat()
	if err != nil {
		return Failf("read %s: %w", name, withoutPath(err))
	}
	isRegular := info.Mode().IsRegular()
	j.isFinite = j.isFinite && isRegular
	if isRegular && info.Size() == 0 && count > 1 {
		return Failf("read %s: it is empty", name)
	}
	return nil
}

// Finite reports whether all files are regular.
func (j *joined) Finite() bool { return j.isFinite }

func (j *joined) Read(b []byte) (int, error) {
	for j.at < len(j.files) {
		n, err := j.files[j.at].Read(b)
		j.begun = j.begun || n > 0
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if !j.begun {
			return 0, fmt.Errorf("%s is empty", j.names[j.at])
		}
		j.at, j.begun = j.at+1, false
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

func (j *joined) Close() error {
	var errs []error
	for _, f := range j.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
