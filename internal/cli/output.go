package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Output is what a tool writes. A regular file appears under its name complete, by Commit, or not at all.
type Output struct {
	*os.File
	inv       *Invocation
	path      string // where the temporary file goes; "" for everything else
	stdout    bool
	regular   bool
	committed bool
}

// CreateOutput opens a tool's output: standard output for "" or "-", else a file. Binary output to a terminal is
// refused. Regular files are written under a temporary name in the same folder, with mode 0600, for the user who called
// sudo if one did; an existing file, or link, is replaced by Commit and never followed. Devices and FIFOs are simply
// written.
func (inv *Invocation) CreateOutput(path string, binary bool) (*Output, error) {
	if path == "" || path == "-" {
		return inv.standardOutput(binary)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0 && !leadsToDevice(path)):
		return inv.temporary(path)
	case err != nil:
		return nil, Failf("write %s: %w", path, err)
	case info.IsDir():
		return nil, Failf("write %s: it is a folder; name a file in it", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, Failf("write %s: %w", path, err)
	}
	if binary && isTerminal(f) {
		f.Close()
		return nil, Usagef("%s is a terminal and the output is binary; name a file with -o FILE or write to a pipe", path)
	}
	return &Output{File: f, inv: inv}, nil
}

// leadsToDevice says whether a link such as /dev/stdout leads to something that is written and not replaced.
func leadsToDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

func (inv *Invocation) standardOutput(binary bool) (*Output, error) {
	f := inv.Std.Out
	if binary && isTerminal(f) {
		return nil, Usagef("standard output is a terminal and the output is binary; name a file with -o FILE or write to a pipe")
	}
	o := &Output{File: f, inv: inv, stdout: true}
	if info, err := f.Stat(); err == nil {
		o.regular = info.Mode().IsRegular()
		if info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			widenPipe(f)
			inv.watchDownstream(f)
		}
	}
	return o, nil
}

func (inv *Invocation) temporary(path string) (*Output, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return nil, Failf("write %s: %w", path, err)
	}
	o := &Output{File: f, inv: inv, path: path, regular: true}
	if err := giveToSudoUser(f); err != nil {
		o.Abort()
		return nil, Failf("write %s: %w", path, err)
	}
	inv.OnAbort(o.Abort)
	return o, nil
}

// IsStdout says whether the output is standard output.
func (o *Output) IsStdout() bool { return o.stdout }

// IsRegular says whether the output is a regular file, also when standard output leads to one.
func (o *Output) IsRegular() bool { return o.regular }

// Commit closes the output and gives a regular file its name.
func (o *Output) Commit() error {
	if err := o.File.Close(); err != nil {
		o.Abort()
		return fmt.Errorf("write %s: %w", o.name(), err)
	}
	if o.path != "" {
		if err := os.Rename(o.File.Name(), o.path); err != nil {
			o.Abort()
			return fmt.Errorf("write %s: %w", o.path, err)
		}
	}
	o.committed = true
	return nil
}

// Abort removes what was written to a regular file. After Commit it does nothing.
func (o *Output) Abort() {
	if o.committed || o.path == "" {
		return
	}
	o.File.Close()
	os.Remove(o.File.Name())
}

func (o *Output) name() string {
	if o.path != "" {
		return o.path
	}
	return o.File.Name()
}
