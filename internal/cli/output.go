package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"wprof/internal/newfile"
)

// Output is what a tool writes. A regular file appears under its name complete, by [Output.Commit], or not at all. Writing
// to a pipe without a reader ends the tool, see [Invocation.OnDownstreamClosed].
type Output struct {
	*os.File
	inv     *Invocation
	path    string  // the name that Commit gives the temporary file; "": there is none
	unnamed bool    // the temporary file has no name yet
	name    string  // for messages
	folder  *Folder // its open folder; nil: it was named by a path
	stdout  bool
	regular bool
	old     bool     // the file still has its old contents
	watched *watcher // nil if the output is no pipe

	mu    sync.Mutex // a signal may abort while the tool commits
	ended bool       // committed or aborted

	forget func() // takes Abort from what a signal cleans up; nil: it is not there
}

// CreateOutput opens a tool's output: standard output for "" or "-", else a file. Binary output, or text that is not
// for reading, to a terminal is refused as wrong usage. Regular files are written without a name, or under a temporary one, in the same folder, with mode
// 0600, for the user who called sudo if one did; an existing file, or link, is replaced by Commit and never followed. Devices and FIFOs
// are written in place, and so is what /dev/stdout and /dev/fd/N lead to. A file that cannot be written is an error at once.
// All operations on an output have the permissions of its user, see [AsUser].
func (inv *Invocation) CreateOutput(path string, binary bool) (o *Output, err error) {
	return inv.createOutputAs(path, path, binary, nil)
}

// createOutputAs opens an output that has another name in messages.
func (inv *Invocation) createOutputAs(path, name string, binary bool, folder *Folder) (o *Output, err error) {
	err = AsUser(func() (err error) {
		o, err = inv.createOutput(path, name, binary)
		return err
	})
	if o != nil {
		o.folder = folder
	}
	return o, err
}

// CreateStatusOutput is [Invocation.CreateOutput] for a text that repeats the exit status. It may be discarded, so a standard
// output that looks closed, such as Python's DEVNULL (see [isClosed]), is accepted.
func (inv *Invocation) CreateStatusOutput(path string) (*Output, error) {
	if isStandardOutput(path) {
		return inv.outputOn(inv.Std.Out, "standard output", false)
	}
	return inv.CreateOutput(path, false)
}

func isStandardOutput(path string) bool { return path == "" || path == "-" || path == "/dev/stdout" }

func (inv *Invocation) createOutput(path, name string, binary bool) (*Output, error) {
	if isStandardOutput(path) {
		if isClosed(inv.Std.Out) {
			return nil, inv.errClosed()
		}
		return inv.outputOn(inv.Std.Out, "standard output", binary)
	}
	old, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return inv.temporary(path, name)
	case err != nil:
		return nil, cannotWrite(name, err)
	case old.IsDir():
		return nil, Failf("write %s: it is a folder; name a file in it", name)
	case inv.isInput(path):
		return nil, Failf("write %s: it is the input as well; name another file", name)
	case isDescriptorLink(path):
		return inv.openInPlace(path, true, binary)
	case old.Mode().IsRegular(), old.Mode()&fs.ModeSymlink != 0:
		if err := checkReplaceable(filepath.Dir(path), old); err != nil {
			return nil, cannotWrite(name, err)
		}
		return inv.temporary(path, name)
	}
	return inv.openInPlace(path, false, binary)
}

// isInput reports whether a path leads to a file that is being read. The output's temporary file would not harm it,
// but Commit would replace it.
func (inv *Invocation) isInput(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(inv.inputs, func(in fs.FileInfo) bool { return os.SameFile(in, info) })
}

// isDescriptorLink reports whether a path is one of the kernel's links to an open file, which only root's own folders hold.
// Links to devices elsewhere are not followed: anyone may leave one in /tmp.
func isDescriptorLink(path string) bool {
	switch filepath.Dir(filepath.Clean(path)) {
	case "/dev", "/dev/fd", "/proc/self/fd", "/proc/thread-self/fd":
		info, err := os.Lstat(path)
		return err == nil && info.Mode()&fs.ModeSymlink != 0
	}
	return false
}

// openInPlace opens an existing output: a device or a FIFO, or through a descriptor's link also a regular file.
func (inv *Invocation) openInPlace(path string, link, binary bool) (*Output, error) {
	flags := os.O_WRONLY
	if !link {
		flags |= noFollow
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	o, err := inv.outputOn(f, path, binary)
	if err == nil && o.regular && !link {
		err = Failf("write %s: it was replaced while it was opened", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	o.stdout, o.old = false, o.regular
	return o, nil
}

// outputOn returns the output on a file that is open already and keeps its name.
func (inv *Invocation) outputOn(f *os.File, name string, binary bool) (*Output, error) {
	if binary && isTerminal(f) {
		return nil, Usagef("%s is a terminal, and the output is not for reading: name a file with -o FILE or write to a pipe", name)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, cannotWrite(name, err)
	}
	o := &Output{File: f, inv: inv, name: name, stdout: true, regular: info.Mode().IsRegular()}
	if isPipe(info) {
		widenPipe(f)
		o.watched = inv.watchDownstream(f)
	}
	return o, nil
}

// errClosed returns the error for a closed standard output. See [isClosed] for the null device.
func (inv *Invocation) errClosed() error {
	hint := "redirect it"
	if slices.ContainsFunc(inv.Tool.flags(), func(f Flag) bool { return f.Name == "output" }) {
		hint = "name a file with -o FILE or redirect it"
	}
	return Failf("write standard output: it is closed, or is the null device opened for reading and writing; %s (> FILE, > %s)", hint, os.DevNull)
}

func isPipe(info fs.FileInfo) bool { return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 }

// maxBase leaves room for the suffix of temporary names in a file name of 255 bytes, the limit of most file systems.
const maxBase = 200

// temporary creates the file that will get the name path: one without a name, or, where that is not possible, under a temporary
// name beside it. Like O_NOFOLLOW, the O_EXCL by which CreateTemp opens it follows no link.
func (inv *Invocation) temporary(path, name string) (*Output, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if base == "" {
		return nil, Failf("write %s: there is no such folder, and no file is named in it", name)
	}
	// An abort from here on waits until there is something to remove: at no time may a signal leave the
	// file behind.
	o := &Output{inv: inv, path: path, name: name, regular: true}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget = inv.OnAbort(o.Abort)
	if err := o.createTemporary(dir, base); err != nil {
		o.ended = true
		return nil, err
	}
	// The umask may have removed the user's own permissions too. Some file systems have no modes.
	_ = o.File.Chmod(0o600)
	if err := newfile.GiveToSudoUser(o.File); err != nil {
		// Some file systems do not allow it, such as FAT and root-squashed NFS. The output is complete nevertheless.
		inv.Warnf("%s is still owned by root: change its owner to the user who called sudo: %v", name, withoutPath(err))
	}
	return o, nil
}

// createTemporary opens the file that Commit gives its name.
func (o *Output) createTemporary(dir, base string) error {
	hidden := "." + base[:min(len(base), maxBase)]
	f, err := newfile.Nameless(dir, filepath.Join(dir, hidden+"."+rand.Text()+".tmp"))
	unnamed := err == nil
	if unnamed && !newfile.NamesCanBeGiven() {
		_ = f.Close()
		unnamed = false
	}
	if !unnamed {
		if f, err = os.CreateTemp(dir, hidden+".*.tmp"); err != nil {
			return cannotWrite(o.name, err)
		}
	}
	o.File, o.unnamed = f, unnamed
	return nil
}

// truncate truncates a file behind a descriptor's link. It is called when there is something to write, so that a tool that
// fails before does not change the file.
func (o *Output) truncate() error {
	if !o.old {
		return nil
	}
	o.old = false
	return o.File.Truncate(0)
}

// Write writes to the output.
func (o *Output) Write(p []byte) (int, error) {
	if err := o.truncate(); err != nil {
		return 0, o.failure(err)
	}
	n, err := o.File.Write(p)
	return n, o.failure(err)
}

// WriteString writes to the output.
func (o *Output) WriteString(s string) (int, error) {
	if err := o.truncate(); err != nil {
		return 0, o.failure(err)
	}
	n, err := o.File.WriteString(s)
	return n, o.failure(err)
}

// ReadFrom copies a reader to the output, inside the kernel where it can.
func (o *Output) ReadFrom(r io.Reader) (int64, error) {
	if err := o.truncate(); err != nil {
		return 0, o.failure(err)
	}
	n, err := o.File.ReadFrom(r)
	return n, o.failure(err)
}

// failure returns the error of a write under the name that the user gave the output, and ends the tool when the output has no
// reader any more. Errors of ReadFrom's input are returned unchanged.
func (o *Output) failure(err error) error {
	if err == nil {
		return nil
	}
	if isBrokenPipe(err) {
		o.inv.closedDownstream()
	}
	if at, ok := err.(*fs.PathError); ok && at.Path == o.File.Name() {
		return &writeError{o.name, at.Err}
	}
	return err
}

// writeError is an error of writing an output.
type writeError struct {
	name string
	err  error
}

func (e *writeError) Error() string {
	return fmt.Sprintf("write %s: %v%s", e.name, e.err, writeHint(e.name, e.err))
}

func (e *writeError) Unwrap() error { return e.err }

// WriteError returns the error of an output that is wrapped in err; nil: there is none. It is all that a user needs: the wrapping
// errors only name the steps on the way to the output.
func WriteError(err error) error {
	if output := new(writeError); errors.As(err, &output) {
		return output
	}
	return nil
}

// IsStdout reports whether the output is standard output.
func (o *Output) IsStdout() bool { return o.stdout }

// IsRegular reports whether the output is a regular file, also when standard output leads to one.
func (o *Output) IsRegular() bool { return o.regular }

// CompressionLevel returns the level that --compress requests, by default 1 for a regular file and 0 for a pipe.
func (inv *Invocation) CompressionLevel(out *Output) int {
	switch text := inv.String("compress"); {
	case text != "":
		return int(text[0] - '0')
	case out.IsRegular():
		return 1
	}
	return 0
}

// IsNamed reports whether the output is a regular file that Commit will give its name.
func (o *Output) IsNamed() bool { return o.path != "" }

// Commit closes the output and gives a regular file its name. After an error nothing is left behind. A second Commit, or
// one after Abort, is an error.
func (o *Output) Commit() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return cannotWrite(o.name, fs.ErrClosed)
	}
	o.ended = true
	defer o.forgotten()
	o.unwatch()
	if err := AsUser(o.finish); err != nil {
		return cannotWrite(o.name, err)
	}
	return nil
}

// finish closes the file and gives it its name.
func (o *Output) finish() error {
	if o.path == "" {
		return errors.Join(o.truncate(), o.File.Close())
	}
	temporary := o.File.Name()
	if o.unnamed {
		err := newfile.GiveName(o.File, o.path)
		if err == nil {
			return o.File.Close()
		}
		if errors.Is(err, fs.ErrExist) {
			err = newfile.GiveName(o.File, temporary) // only a rename replaces a file
		}
		if err != nil {
			o.File.Close()
			return err
		}
	}
	err := o.File.Close()
	if err == nil {
		err = os.Rename(temporary, o.path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// Abort removes what was written to a regular file and closes what the tool opened. After Commit it does nothing, so that
// it can be deferred.
func (o *Output) Abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.ended = true
	defer o.forgotten()
	o.unwatch()
	if !o.stdout {
		o.File.Close()
	}
	if o.path != "" && !o.unnamed {
		_ = AsUser(func() error { return os.Remove(o.File.Name()) })
	}
}

func (o *Output) unwatch() {
	if o.watched != nil {
		o.watched.stop()
	}
}

// forgotten makes a signal no longer wait for the output: a recorder may write thousands.
func (o *Output) forgotten() {
	if o.forget != nil {
		o.forget()
	}
}

func cannotWrite(name string, err error) error {
	return WithCode(ExitFailed, fmt.Errorf("write %s: %w%s", name, withoutPath(err), writeHint(name, err)))
}

// writeHint returns advice for an error of the file system.
func writeHint(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist) && !onDisk(filepath.Dir(name)):
		return "; make the folder " + filepath.Dir(name) + " first"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return "; choose a folder that you may write to"
	case IsFull(err):
		return "; free some space, or write to another disk"
	case IsTooLong(err):
		return "; raise the limit on the length of files (ulimit -f)"
	}
	return ""
}

func onDisk(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
