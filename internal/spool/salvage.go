package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"wprof/internal/newfile"
)

// ErrNoRound is the error of [Writer.Salvage] for a spool without a whole round: nothing in it is certain.
var ErrNoRound = errors.New("the spool has no whole round")

// ErrChanged is the error for a spool whose file does not hold what its writer wrote.
var ErrChanged = errors.New("another program has cut or overwritten the spool")

// Salvage is for a recording that could not be written to its end: the spool up to its last whole round, to be
// finalised like one that a killed recorder has left behind. Nothing may be written afterwards.
func (w *Writer) Salvage() (*Spool, error) {
	s, err := w.reread()
	if err == nil && s.limit == 0 {
		return nil, ErrNoRound
	}
	return s, err
}

// reread reads the spool back from its file.
func (w *Writer) reread() (*Spool, error) {
	s, err := Read(w.file, w.size)
	none := errors.Is(err, errNoSpool) || err == nil && s.limit == 0
	switch {
	case none && w.shared.whole.Load() > 0:
		return nil, ErrChanged
	case errors.Is(err, errNoSpool):
		return nil, ErrNoRound
	}
	return s, err
}

// Keep returns the spool's name, which stays when its writer is closed. If it never had one or has lost it (its folder was
// removed), it gets one in $TMPDIR or /var/tmp.
func (w *Writer) Keep() (path string, err error) {
	if path := w.Place(); path != "" {
		return path, nil
	}
	path = filepath.Join(folder(), "wprof-"+rand.Text()+".part")
	if err = newfile.GiveName(w.file, path); err != nil {
		// A file whose last name was removed cannot get another one.
		err = w.copyTo(path)
	} else {
		w.restrict()
	}
	if err != nil {
		return "", fmt.Errorf("keep the spool in %s: %w", folder(), err)
	}
	w.path = path
	return path, nil
}

func (w *Writer) copyTo(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.NewSectionReader(w.file, 0, w.size))
	_ = newfile.GiveToSudoUser(file)
	err = errors.Join(err, file.Close())
	if err != nil {
		os.Remove(path)
	}
	return err
}

// CopyUnlinked copies a spool that comes through a pipe into a file without a name, so that it can be read as one.
func CopyUnlinked(r io.Reader) (*Spool, error) {
	w, err := CreateUnlinked("")
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(w.file, r)
	if err != nil {
		w.file.Close()
		return nil, err
	}
	s, err := Read(w.file, size)
	if err != nil {
		w.file.Close()
		return nil, err
	}
	s.file, s.ownsFile = w.file, true
	return s, nil
}
