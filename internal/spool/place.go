package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// OnTmpfs reports that the spool takes memory, not disk.
func (w *Writer) OnTmpfs() bool { return w.tmpfs }

// MovedAside is the name that an old spool was given to make room for this one; "" if there was none.
func (w *Writer) MovedAside() string { return w.moved }

// Name is what messages call the spool.
func (w *Writer) Name() string {
	name := w.file.Name()
	if w.path != "" {
		name = w.path // it may have been made without a name
	}
	if strings.HasPrefix(name, namelessSpool) {
		return name
	}
	return "spool " + name
}

// Path is the name of the file; "" if it has none.
func (w *Writer) Path() string { return w.path }

// Remove removes the file's name, also in a folder that was moved. A name that is another file's by now stays.
func (w *Writer) Remove() error {
	if path := w.Place(); path != "" {
		return os.Remove(path)
	}
	return nil
}

// Place is where the file is found now, in the folder where it was made; "": it is not there, or never had a name.
func (w *Writer) Place() string {
	if w.path == "" || standsAt(w.file, w.path) {
		return w.path
	}
	if w.folder == nil {
		return ""
	}
	// /proc/self/fd of the file itself does not help: the kernel shows the name that it was made with, which is none.
	folder, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.folder.Fd()))
	if path := filepath.Join(folder, filepath.Base(w.path)); err == nil && standsAt(w.file, path) {
		return path
	}
	return ""
}
